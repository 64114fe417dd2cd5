import keyword

import pytest

from craik.tasks.text.code_tokens import MODULES, NO_ROLE, ROLES, code_tokens, roles_of

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
