"""Reports for people, made of the JSON documents that programs get."""
