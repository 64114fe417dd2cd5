from fake_hill import here, hill

__all__ = ["here", "hill"]
