. ./say.sh
case "$SLATE_STATE/$SLATE_ENTRY" in
plan/*) say task "the task" ;;
judge/3) say status again ;;
judge/*) say status enough ;;
close/*) say report "the report" ;;
esac
