"""Pictures: where things are, what captions say of them, what recordings tell of them."""
