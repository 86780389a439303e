. ./say.sh
say finds "first find of $SLATE_AGENT in entry $SLATE_ENTRY"
say finds "second find of $SLATE_AGENT in entry $SLATE_ENTRY"
say finds "everybody finds this in entry $SLATE_ENTRY"
say views "view of $SLATE_AGENT in entry $SLATE_ENTRY"
