# SPDX-License-Identifier: MIT
#
# complete.zsh - complete.zsh FOLDER LINE...: what an interactive zsh offers when Tab is
# pressed behind each LINE, by the completion functions in FOLDER: what it shows, and the
# line as it is then, between LINE< and >.

zmodload zsh/zpty || exit 1
folder=$1
shift
zpty shell zsh -f -i

# Prints what the shell shows up to the text; gives up when it shows nothing more.
await()
{
	local part
	while zpty -r shell part "*$1"; do
		print -r -- "$part"
		return
	done
	return 1
}

zpty -w shell "PS1='' COLUMNS=200 LISTMAX=1000 fpath=($folder \$fpath)"
zpty -w shell "autoload -Uz compinit; compinit -u -D; unsetopt beep zle_bracketed_paste"
zpty -w shell "show() { print -r -- \"LI\"\"NE<\$BUFFER>\" }; zle -N show; bindkey '^X' show; bindkey '^I' complete-word"
zpty -w shell "print rea''dy"
await 'ready' >/dev/null || exit 1
for line; do
	zpty -w -n shell "$line"$'\t'$'\t'$'\x18'
	await 'LINE<*>' || exit 1
	zpty -w -n shell $'\x15'
done
zpty -d shell
