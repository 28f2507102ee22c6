# hotpath.bash - completion of hotpath and hotpath-run for bash.
#
# Commands, options and their words are read from the command's own --help, so
# they are those of the hotpath that is installed.

# Options of a command, one per line; an option that takes a value ends in =.
_hotpath_options()
{
	"$1" "$2" --help 2>/dev/null | sed -n -E \
		-e 's/^ +(-[a-zA-Z], |    )?(--[a-z-]+)([= ][A-Z]+).*/\2=/p' -e t \
		-e 's/^ +(-[a-zA-Z], |    )?(--[a-z-]+)( .*|$)/\2/p'
}

# The words that an option's help lists: "table, json or none".
_hotpath_words()
{
	"$1" "$2" --help 2>/dev/null | sed -n -E \
		"s/^ +(-[a-zA-Z], |    )?($3|-[a-zA-Z], $3)[= ](WORD|FORMAT|WHEN) +//p" |
		sed -E 's/, | or /\n/g' | grep -E '^[a-z-]+$'
}

_hotpath_long()	# the long name of the option $3 of command $2
{
	case $3 in
	--*) printf '%s\n' "${3%%=*}" ;;
	*) "$1" "$2" --help 2>/dev/null | sed -n -E "s/^ +$3, (--[a-z-]+).*/\1/p" ;;
	esac
}

_hotpath_kept()
{
	"$1" list 2>/dev/null | awk 'NR > 1 { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) print $i }'
}

_hotpath()
{
	local hotpath=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} first=2 i option words

	COMPREPLY=()
	if [[ ${hotpath##*/} == hotpath-run ]]; then
		[[ $hotpath == */* ]] && hotpath=${hotpath%/*}/hotpath || hotpath=hotpath
		command=run first=1
	elif ((COMP_CWORD == 1)); then
		words=$("$hotpath" --help 2>/dev/null | sed -n -E 's/^  ([a-z]+)  +.*/\1/p')
		COMPREPLY=($(compgen -W "$words --help --version" -- "$word"))
		return
	fi

	# "--format=x" is three words if = separates words.
	if [[ $word == = ]]; then
		word='' option=$previous
	elif [[ $previous == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $previous == -* && $previous != -- ]]; then
		option=$previous
	fi
	if [[ $option ]]; then
		option=$(_hotpath_long "$hotpath" "$command" "$option")
		if [[ $option == --report ]]; then
			words="auto all $("$hotpath" help --sections 2>/dev/null)"
			COMPREPLY=($(compgen -P "${word%"${word##*,}"}" -W "$words" -- "${word##*,}"))
			return
		fi
		words=$(_hotpath_words "$hotpath" "$command" "$option")
		if [[ $words ]]; then
			COMPREPLY=($(compgen -W "$words" -- "$word"))
			return
		fi
		if [[ $(_hotpath_options "$hotpath" "$command") == *"$option="* ]]; then
			compopt -o filenames
			COMPREPLY=($(compgen -f -- "$word"))
			return
		fi
	fi

	# The program to run, and its arguments, are completed as usual.
	if [[ $command == run ]]; then
		for ((i = first; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) ((i++)) && break ;;
			-*) [[ $(_hotpath_options "$hotpath" run) == *"$(_hotpath_long "$hotpath" run \
				"${COMP_WORDS[i]}")="* ]] && ((i++)) ;;
			=) ((i++)) ;;
			*) break ;;
			esac
		done
		if ((i < COMP_CWORD)); then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			else
				compopt -o filenames
				COMPREPLY=($(compgen -f -- "$word"))
			fi
			return
		fi
	fi
	if [[ $word == -* ]]; then
		words=$(_hotpath_options "$hotpath" "$command")
		COMPREPLY=($(compgen -W "$words" -- "$word"))
		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	case $command in
	run | doctor) COMPREPLY=($(compgen -c -f -- "$word")) ;;
	flags) COMPREPLY=($(compgen -W "gcc g++ clang clang++ cc c++" -- "$word")) ;;
	stacks) COMPREPLY=($(compgen -W "$(ps -u "$(id -u)" -o pid= 2>/dev/null)" -- "$word")) ;;
	explain) COMPREPLY=($(compgen -W "1 2 3 4" -- "$word") $(compgen -W "$(_hotpath_kept "$hotpath")" -- "$word")) ;;
	report) COMPREPLY=($(compgen -W "$(_hotpath_kept "$hotpath")" -- "$word") $(compgen -f -- "$word")) ;;
	help)
		words=$("$hotpath" --help 2>/dev/null | sed -n -E 's/^  ([a-z]+)  +.*/\1/p')
		COMPREPLY=($(compgen -W "$words" -- "$word"))
		;;
	esac
	[[ $command == flags || $command == help ]] || compopt -o filenames 2>/dev/null
}

complete -F _hotpath hotpath hotpath-run
