"""What the viewers need from the server's side; the viewers themselves are ui/web/views."""
