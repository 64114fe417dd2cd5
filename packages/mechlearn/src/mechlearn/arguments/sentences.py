"""How a refusal is worded: the rule, the value found, the way out."""


def sentence(name: str, rule: str, found: str, way_out: str) -> str:
    """Return the sentences of a refusal; the way out may be empty."""
    return f"`{name}` should {rule}. Found {found}.{way_out and f' {way_out}'}"


def because(why: str) -> str:
    """Return a reason as it stands behind a rule."""
    return why and f": {why}"


def typed(value: object) -> str:
    """Return a value with its type."""
    return f"{value!r} of type {type(value).__name__}"


def named(value: object) -> str:
    """Return a value in a few words, however large it is."""
    if value is None or isinstance(value, type):
        return "None" if value is None else f"the class {value.__name__} itself"
    shown = repr(value) if isinstance(value, int | float | str | bool) else ""
    return f"{shown} of type {type(value).__name__}" if 0 < len(shown) < 40 else f"an object of type {type(value).__name__}"
