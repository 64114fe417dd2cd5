import numpy as np
import pytest

from mechlearn.tables.reading import digest, read_trajectories


class TestTrajectories:
    frames = np.arange(24.0).reshape(2, 4, 3)

    def same(self, recorded, lengths=(4, 4)):
        assert len(recorded.frames) == len(lengths)
        for one, whole, length in zip(recorded.frames, self.frames, lengths, strict=True):
            np.testing.assert_array_equal(one, whole[:length])

    def test_one_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames)
        np.save(tmp_path / "b.npy", self.frames)
        for name in ("a.npz", "b.npy"):
            found = read_trajectories(tmp_path / name)
            self.same(found)
            assert found.names == ("x0", "x1", "x2")

    def test_lengths(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2, 4]))
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2.0, 4.0]))
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))

    @pytest.mark.parametrize(
        ("lengths", "found"),
        [
            ([2, 5], "5 at place 1"),
            ([2.5, 3], "2.5 at place 0"),
            ([4, np.nan], "nan at place 1"),
            ([2], r"shape \(1,\) of int64"),
        ],
    )
    def test_lengths_that_cannot_be(self, tmp_path, lengths, found):
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array(lengths))
        with pytest.raises(ValueError, match=f"from 1 to 4. Found {found} in a.npz. Mend it"):
            read_trajectories(tmp_path / "a.npz")

    def test_an_array_for_each(self, tmp_path):
        np.savez(tmp_path / "a.npz", first=self.frames[0, :2], second=self.frames[1])
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", first=self.frames[0], second=np.ones(3))
        with pytest.raises(ValueError, match=r"second \(3,\)"):
            read_trajectories(tmp_path / "a.npz")

    def test_an_array_for_each_with_other_features(self, tmp_path):
        np.savez(tmp_path / "a.npz", first=self.frames[0], second=self.frames[1][:, :1])
        with pytest.raises(ValueError, match=r"shape \(4, 1\) in 'second' of a.npz and \(4, 3\) in 'first' of a.npz"):
            read_trajectories(tmp_path / "a.npz")

    def test_no_array(self, tmp_path):
        np.savez(tmp_path / "a.npz")
        with pytest.raises(ValueError, match=r"Found none\. Save it so"):
            read_trajectories(tmp_path / "a.npz")

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY\x01\x00", b"PK\x05\x06"])
    @pytest.mark.parametrize("name", ["a.npy", "a.npz"])
    def test_what_numpy_did_not_write(self, tmp_path, name, content):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"should be one that NumPy wrote, .* in {name}. Write it again") as refused:
            read_trajectories(tmp_path / name)
        assert "allow_pickle" not in str(refused.value)

    @pytest.mark.parametrize(
        ("frames", "found"),
        [
            (np.zeros((0, 4, 3)), r"Found shape \(0, 4, 3\) in a.npy"),
            (np.zeros((2, 4, 0)), r"Found shape \(2, 4, 0\) in a.npy"),
            (np.zeros((2, 4, 3), dtype=str), "Found <U1 in trajectory 0 of a.npy"),
            (np.zeros((2, 4, 3), dtype=complex), "Found complex128 in trajectory 0 of a.npy"),
            (np.array([1, "a"], dtype=object), "Found objects in a.npy. Save numbers and texts as such"),
        ],
    )
    def test_arrays_that_are_no_frames(self, tmp_path, frames, found):
        np.save(tmp_path / "a.npy", frames)
        with pytest.raises(ValueError, match=found):
            read_trajectories(tmp_path / "a.npy")

    @pytest.mark.parametrize(("value", "found"), [(np.inf, "inf"), (np.nan, "a missing one"), (-1e200, r"-1e\+200")])
    def test_numbers_that_are_not_finite_are_named(self, tmp_path, value, found):
        frames = self.frames.copy()
        frames[1, 2, 0] = value
        np.savez(tmp_path / "a.npz", frames=frames)
        with pytest.raises(ValueError, match=f"Found {found} in feature x0, frame 2 of trajectory 1 of a.npz, counted from 0"):
            read_trajectories(tmp_path / "a.npz")
        np.savez(tmp_path / "a.npz", frames=frames, lengths=[4, 2])
        self.same(read_trajectories(tmp_path / "a.npz"), (4, 2))
        lines = [f"{'ab'[i // 4]},{i % 4},{','.join(map(str, frames[i // 4, i % 4]))}" for i in range(8)]
        (tmp_path / "a.csv").write_text("\n".join(["who,when,x,y,z", *lines]))
        with pytest.raises(ValueError, match=f"Found {found} in column 'x', data row 7 of a.csv"):
            read_trajectories(tmp_path / "a.csv", "who", "when")

    @pytest.mark.parametrize("word", ["", "first"])
    def test_a_time_that_is_missing(self, tmp_path, word):
        (tmp_path / "a.csv").write_text(f"who,when,x\na,{word},1\na,,2\n")
        with pytest.raises(ValueError, match=f"column 'when', data row {2 if word else 1} of a.csv"):
            read_trajectories(tmp_path / "a.csv", "who", "when")

    def table(self, path, order=range(8), text=""):
        lines = [f"{'ab'[i // 4]},{i % 4},{','.join(map(str, self.frames[i // 4, i % 4]))}{text}" for i in order]
        path.write_text("\n".join(["who,when,x,y,z" + (",said" if text else ""), *lines]) + "\n")

    def test_a_table(self, tmp_path):
        self.table(tmp_path / "a.csv", [3, 0, 1, 2, 7, 6, 5, 4], ",word")
        found = read_trajectories(tmp_path / "a.csv", "who", "when")
        self.same(found)
        assert found.names == ("x", "y", "z")
        assert "said" in found.notes[0]
        with pytest.raises(ValueError, match="--trajectory"):
            read_trajectories(tmp_path / "a.csv")
        with pytest.raises(ValueError, match="when"):
            read_trajectories(tmp_path / "a.csv", "who", "whem")

    def test_a_folder(self, tmp_path):
        np.save(tmp_path / "0.npy", self.frames[0])
        np.save(tmp_path / "1.npy", self.frames[1])
        self.same(read_trajectories(tmp_path))
        (tmp_path / "2.csv").write_text("x,y\n1,2\n2,3\n")
        with pytest.raises(ValueError, match=r"same features. Found x, y in 2.csv"):
            read_trajectories(tmp_path)
        assert digest(tmp_path) != digest(tmp_path / "2.csv")
        np.save(tmp_path / "2.NPY", self.frames)
        with pytest.raises(ValueError, match=r"one trajectory, .* shape \(2, 4, 3\) in 2.NPY"):
            read_trajectories(tmp_path)

    def test_nothing(self, tmp_path):
        with pytest.raises(ValueError, match="one a trajectory"):
            read_trajectories(tmp_path)
        with pytest.raises(FileNotFoundError):
            read_trajectories(tmp_path / "a.npz")
        np.save(tmp_path / "a.npy", self.frames[0])
        with pytest.raises(ValueError, match="several"):
            read_trajectories(tmp_path / "a.npy")


class TestTimes:
    def frames(self, tmp_path, lines, **settings):
        path = tmp_path / "t.csv"
        path.write_text("who,t,x\n" + "\n".join(lines) + "\n")
        return read_trajectories(path, "who", "t", **settings)

    def test_moments_of_a_day_are_in_order(self, tmp_path):
        days = [f"a,2021-03-01 {hour},{x}" for hour, x in (("12:00", 3), ("03:00", 1), ("07:00", 2))]
        found = self.frames(tmp_path, days)
        assert found.frames[0][:, 0].tolist() == [1, 2, 3]
        assert found.notes == ()

    def test_whose_is_a_text_with_its_time(self, tmp_path):
        begun = [("08", 1), ("14", 1), ("08", 2)]
        found = self.frames(tmp_path, [f"2021-03-01 {hour}:00,{t},{x}" for x, (hour, t) in enumerate(begun)])
        assert [one[:, 0].tolist() for one in found.frames] == [[0, 2], [1]]

    @pytest.mark.parametrize(
        ("lines", "found"),
        [
            (["a,9:30,1", "a,10:00,2"], "Found '9:30' in column 't'"),
            (["a,1,1", ",2,2"], "Found nothing in column 'who', data row 2"),
            (["a,1,1", "b,1,2", "a,1,3"], "Found 1 twice in column 't'"),
            (["a,2021-03-01,1", "a,2021-03-01,3"], "Found 2021-03-01 twice in column 't'"),
            (["a,2021-03-01,1", "a,,3"], "Found none in column 't', data row 2"),
        ],
    )
    def test_times_that_order_nothing(self, tmp_path, lines, found):
        with pytest.raises(ValueError, match=found):
            self.frames(tmp_path, lines)

    def test_uneven_ones_are_said(self, tmp_path):
        (note,) = self.frames(tmp_path, ["a,1,1", "a,2,2", "a,3,2", "a,7,3"]).notes
        assert note.startswith("Times between frames differ, by up to 4")

    def test_a_stray_cell_and_decimal_commas(self, tmp_path):
        path = tmp_path / "s.csv"
        path.write_text("who;x;z\na;1,5;1\na;2,5;1\n")
        assert read_trajectories(path, "who").notes[0].endswith("decimal marks in x.")
        cells = "".join(f"a;{row},5;{row}.5\n" for row in range(30))
        path.write_text(f"who;x;z\n{cells}a;1,5;?\n")
        with pytest.raises(ValueError, match=r"of 'z', and texts in the others, such as '\?' in data row 31"):
            read_trajectories(path, "who")


class TestOrder:
    """Rows without --time, which are taken as they lie in the file."""

    def notes(self, tmp_path, lines, names="who,Time,x", time=None):
        (tmp_path / "t.csv").write_text("\n".join([names, *lines, ""]))
        return read_trajectories(tmp_path / "t.csv", "who", time).notes

    def test_a_time_that_falls_is_said(self, tmp_path):
        shuffled = ["a,1,5", "b,1,5", "a,0,6", "b,2,6"]
        (note,) = self.notes(tmp_path, shuffled)
        assert note == (
            "Time falls within a trajectory, and is taken for a part of the state: frames are taken in the order of the file; "
            "--time names a column to order them by, as --time Time."
        )
        assert self.notes(tmp_path, shuffled, time="Time") == ()
        assert self.notes(tmp_path, ["a,0,5", "a,1,6", "b,0,5", "b,1,6"]) == ()
        assert self.notes(tmp_path, ["a,0,5", "a,1,4", "b,0,5", "b,1,3"], "who,y,x") == ()

    def test_rows_of_one_trajectory_that_are_apart_are_said(self, tmp_path):
        (note,) = self.notes(tmp_path, ["a,0,5", "b,0,5", "a,1,6", "b,1,6"])
        assert note.startswith("Rows of one who are not together: its frames are taken in the order of the file; --time names")
