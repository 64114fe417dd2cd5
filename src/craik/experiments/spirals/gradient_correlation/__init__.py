"""What a gradient is made of: its correlation with the mechanism's and the shortcuts' share, by threshold."""
