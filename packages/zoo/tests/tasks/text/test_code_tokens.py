import keyword

import pytest

from mechlearn_zoo.tasks.text.code_tokens import MODULES, NO_ROLE, ROLES, code_tokens, roles_of

SOURCE = """import os
class Thing(os.PathLike):
    def go(self, x, *rest, é=1, **more):
        y = os.path.join(x, sep=é)
        self.y += [z for z in rest]
        return y
"""


def named(tokens):
    words, roles = tokens.tokens[0], tokens.roles[0]
    return [(word, ROLES[role]) for word, role in zip(words, roles, strict=True) if role != NO_ROLE]


def test_roles(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    found = named(code_tokens([path]))
    assert found == [
        ("Thing", "definition"), ("os", "load"), ("PathLike", "attribute"), ("go", "definition"), ("self", "definition"),
        ("x", "definition"), ("rest", "definition"), ("é", "definition"), ("more", "definition"), ("y", "store"),
        ("os", "load"), ("path", "attribute"), ("join", "attribute"), ("x", "load"), ("sep", "keyword"), ("é", "load"),
        ("self", "load"), ("y", "attribute"), ("z", "load"), ("z", "store"), ("rest", "load"), ("y", "load"),
    ]  # fmt: skip
    assert ROLES[roles_of("f(1)\n")[1, 0]] == "call"
    assert code_tokens([tmp_path]).digest == code_tokens([path]).digest


def test_the_standard_library():
    found = code_tokens(modules=5)
    assert len(found.tokens) + len(found.missing) == 5
    for words, roles in zip(found.tokens, found.roles, strict=True):
        assert len(words) == len(roles)
        assert not any(keyword.iskeyword(word) for word, role in zip(words, roles, strict=True) if role != NO_ROLE)
    names = sum(role != NO_ROLE for roles in found.roles for role in roles)
    assert names > 0.25 * sum(map(len, found.tokens))
    assert len(set(MODULES)) == len(MODULES)


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="Check the path"):
        code_tokens([tmp_path / "none.py"])
    (tmp_path / "no.py").write_text("def (")
    with pytest.raises(ValueError, match="Leave the file out"):
        code_tokens([tmp_path / "no.py"])


@pytest.mark.parametrize("sign", ["\x0c", "\x1c", "\u2028"])
def test_lines_end_where_pythons_do(sign):
    plain = {(line + 1, column): role for (line, column), role in roles_of("def go(x): pass\n").items()}
    assert roles_of(f"# one{sign}line\ndef go(x): pass\n") == plain


def test_roles_behind_a_form_feed(tmp_path):
    (tmp_path / "mine.py").write_text(f"x = 1\n\x0c\n{SOURCE}")
    (tmp_path / "plain.py").write_text(f"x = 1\n\n{SOURCE}")
    one, other = (named(code_tokens([tmp_path / name])) for name in ("mine.py", "plain.py"))
    assert one == other


def test_a_definitions_name_is_behind_its_keyword():
    found = roles_of("async def de(c): pass\nclass  cl: pass\n")
    assert sorted(place for place, role in found.items() if ROLES[role] == "definition") == [(1, 10), (1, 13), (2, 7)]


@pytest.mark.parametrize("content", ["x = 'é'\n".encode("utf-8-sig"), "# coding: latin-1\nx = 'é'\n".encode("latin-1")])
def test_files_are_read_in_the_encoding_that_they_name(tmp_path, content):
    (tmp_path / "mine.py").write_bytes(content)
    assert named(code_tokens([tmp_path / "mine.py"])) == [("x", "store")]


def test_files_in_another_encoding_than_they_say_are_refused(tmp_path):
    (tmp_path / "mine.py").write_bytes("x = 'é'\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"mine\.py should be Python of this version"):
        code_tokens([tmp_path / "mine.py"])


@pytest.mark.usefixtures("as_installed")
def test_one_path_is_no_list_of_paths(tmp_path):
    with pytest.raises(TypeError, match=r"`paths` should be a list of paths. .* Put one path into a list"):
        code_tokens(str(tmp_path))
