package egress

var MetadataAddresses = metadata
