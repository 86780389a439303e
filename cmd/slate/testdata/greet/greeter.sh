. ./say.sh
say greeting '"Good day."'
