. ./say.sh
say notes '"they came in by the north door"'
say name "\"$WHO\""
