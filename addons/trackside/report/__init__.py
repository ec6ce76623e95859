"""Tables and pages made from turn records."""
