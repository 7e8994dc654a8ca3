"""C++ extensions, compiled on the user's machine on first use; nothing depends on them."""
