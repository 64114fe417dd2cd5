"""How time and memory are measured; nothing here knows what is measured."""
