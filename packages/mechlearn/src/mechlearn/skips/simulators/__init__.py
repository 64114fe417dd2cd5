"""What a temporally abstract simulator has beside frames (thesis section 2.1.2): cumulants, a memory, options."""
