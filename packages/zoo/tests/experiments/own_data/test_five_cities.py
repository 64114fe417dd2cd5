"""On rows made up in the published layout: the files themselves do not ship."""

import pytest
import torch

from mechlearn_zoo.experiments.own_data.cities.five_cities import CITIES, COLUMNS, DATA_DIGESTS, five_cities, forecasts

HEADER = "No,year,month,day,hour,season,PM_Local,PM_US Post,DEWP,HUMI,PRES,TEMP,cbwd,Iws,precipitation,Iprec\n"


def line(number, hour, pm, wind="NE", day=1):
    return f"{number},2010,1,{day},{hour},4,NA,{pm},-21,43,1021,{hour},{wind},1.79,0,0\n"


@pytest.fixture
def folder(tmp_path):
    for name in CITIES:
        rows = [line(hour + 1, hour, 100 + hour) for hour in range(8)]
        rows[3] = line(4, 3, "NA")
        rows[5] = line(6, 5, 105, wind="NA")
        rows.append(line(9, 1, 200, day=2))
        (tmp_path / f"{name}PM20100101_20151231.csv").write_text(HEADER + "".join(rows))
    return tmp_path


def test_a_city_is_read_as_published(folder):
    found = five_cities(folder)
    assert tuple(found) == CITIES
    city = found["Shanghai"]
    assert city.hour.tolist() == [*range(8), 25]
    assert city.x.shape == (9, len(COLUMNS))
    assert city.x[0].tolist() == pytest.approx([100, -21, 43, 1021, 0, 1.79, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    assert city.x[3, 0].isnan()
    assert city.x[5, 6:11].isnan().all()
    assert DATA_DIGESTS.keys() >= {f"{name}PM20100101_20151231.csv" for name in CITIES}
    assert set(five_cities(folder, cities=("Chengdu",))) == {"Chengdu"}


def test_the_names_in_the_public_code_of_lupts_are_read_too(folder):
    expected = five_cities(folder)["Chengdu"]
    (folder / "ChengduPM20100101_20151231.csv").rename(folder / "chengdu.csv")
    found = five_cities(folder, cities=("Chengdu",))["Chengdu"]
    torch.testing.assert_close(found.x, expected.x, equal_nan=True)


def test_numbers_that_stand_for_none_are_missing(folder):
    path = folder / "BeijingPM20100101_20151231.csv"
    path.write_text(path.read_text().replace(",-21,43,", ",-9999,-9999,", 1))
    row = five_cities(folder, cities=("Beijing",))["Beijing"].x[0]
    assert row.isnan().nonzero().flatten().tolist() == [1, 2]


def test_hours_can_be_kept_apart(folder):
    city = five_cities(folder)["Beijing"]
    assert forecasts(city, horizon=1, apart=3).hour.tolist() == [0, 4]
    assert forecasts(city, horizon=1, apart=4).hour.tolist() == [0, 4]
    assert forecasts(city, horizon=1, apart=5).hour.tolist() == [0, 6]


def test_forecasts_have_nothing_missing_and_jump_no_gap(folder):
    city = five_cities(folder)["Beijing"]
    found = forecasts(city, horizon=2, between=(1,))
    # From hour 3 and 5 nothing, as they lack something; from 2 and 4 nothing, as the hour after does; nor from 1 and 6, 7.
    assert found.hour.tolist() == [0]
    assert found.y.tolist() == [102]
    torch.testing.assert_close(found.privileged[0, 0], city.x[1])
    assert forecasts(city, horizon=1).hour.tolist() == [0, 1, 4, 6]
    assert forecasts(city, horizon=24).hour.tolist() == [1]
    assert forecasts(city, horizon=1).privileged.shape == (4, 0, len(COLUMNS))


def test_refusals(folder):
    with pytest.raises(FileNotFoundError, match=r"none of the files .*dataset/394"):
        five_cities(folder / "elsewhere")
    (folder / "ChengduPM20100101_20151231.csv").unlink()
    with pytest.raises(FileNotFoundError, match="no file of Chengdu"):
        five_cities(folder)
    with pytest.raises(ValueError, match="Paris"):
        five_cities(folder, cities=("Paris",))
    path = folder / "BeijingPM20100101_20151231.csv"
    good = path.read_text()
    path.write_text(good.replace("DEWP", "dew point"))
    with pytest.raises(ValueError, match="Found no DEWP in BeijingPM"):
        five_cities(folder, cities=("Beijing",))
    path.write_text(good.replace("1021", "a lot", 1))
    with pytest.raises(ValueError, match=r"'PRES'.*'a lot' in line 2"):
        five_cities(folder, cities=("Beijing",))
    path.write_text(good.replace(",NE,", ",up,", 1))
    with pytest.raises(ValueError, match=r"'cbwd'.*'up'"):
        five_cities(folder, cities=("Beijing",))
    path.write_text(good.replace("2010,1,1,0", "2010,1,,0", 1))
    with pytest.raises(ValueError, match=r"date and an hour.*line 2"):
        five_cities(folder, cities=("Beijing",))
    path.write_text(HEADER)
    with pytest.raises(ValueError, match="no row"):
        five_cities(folder, cities=("Beijing",))
    city = five_cities(folder, cities=("Shanghai",))["Shanghai"]
    with pytest.raises(ValueError, match="below the horizon of 2"):
        forecasts(city, 2, between=(1, 2))
    with pytest.raises(ValueError, match="horizon"):
        forecasts(city, 0)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("2010,1,1,2,4", "2010,1,1,25,4", r"an hour from 0 to 23.*'25'.* in line 4"),
        ("2010,1,1,2,4", "2010,1,1,1,4", r"rise from line to line. Found hour 1 since 2010 behind 1 in line 4 of Bei"),
        ("2010,1,2,1,4", "2010,1,1,0,4", r"rise from line to line. Found hour 0 since 2010 behind 7 in line 10"),
    ],
)
def test_hours_rise(folder, old, new, sentence):
    path = folder / "BeijingPM20100101_20151231.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=sentence):
        five_cities(folder, cities=("Beijing",))


def test_what_a_reader_changes_stays_its_own(folder):
    first = five_cities(folder, cities=("Beijing",))["Beijing"]
    first.x.zero_()
    first.hour.add_(1)
    again = five_cities(folder, cities=("Beijing",))["Beijing"]
    assert again.x[0, 0] == 100
    assert again.hour[0] == 0


def test_digests_are_those_of_the_files_read_last(folder, tmp_path_factory):
    other, name = tmp_path_factory.mktemp("other"), "BeijingPM20100101_20151231.csv"
    (other / name).write_text((folder / name).read_text().replace("1021", "1022"))
    found = []
    for one in (folder, other, folder):
        five_cities(one, cities=("Beijing",))
        found.append(DATA_DIGESTS[name])
    assert found[0] == found[2] != found[1]
