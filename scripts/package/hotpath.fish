# hotpath.fish - completion of hotpath and hotpath-run for fish.
#
# Commands, options and their words are read from the command's own --help, so
# they are those of the hotpath that is installed.

# Where it is not in PATH there is nothing to say.
function __hotpath_ask
    command -q hotpath
    and command hotpath $argv 2>/dev/null
end

function __hotpath_commands
    __hotpath_ask --help | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
end

# What stands behind the command so far, the command first: that of hotpath-run is run.
function __hotpath_words
    set -l words (commandline -opc)
    if string match -q '*hotpath-run' -- $words[1]
        set words[1] run
    else
        set -e words[1]
    end
    test (count $words) -gt 0
    and printf '%s\n' $words
end

# The options of a command: LETTER, NAME, what the value is called, text; tabs between.
function __hotpath_table
    __hotpath_ask $argv[1] --help |
        string replace -rf '^ +(?:(-[a-zA-Z]), )?(--[a-z-]+)(?:[= ]([A-Z]+))? +(.*)$' '$1\t$2\t$3\t$4'
end

# What an option takes, by what its value is called, its text and its name.
function __hotpath_split_words
    if test "$argv[3]" = --report
        string join \n auto all (__hotpath_ask help --sections)
        return
    end
    string match -rq '^(WORD|FORMAT|WHEN)$' -- $argv[1]
    and string split -n ' ' -- (string replace -ra ', | or ' ' ' -- $argv[2])
end

# Options for the word that is being written; with their words, as --color=auto.
function __hotpath_options
    set -l command (__hotpath_words)[1]
    for line in (__hotpath_table $command)
        set -l part (string split \t -- $line)
        set -l words (__hotpath_split_words "$part[3]" "$part[4]" $part[2])
        if set -q words[1]
            printf "$part[2]=%s\n" $words
        else if test -n "$part[3]"
            printf '%s=\t%s\n' $part[2] $part[4]
        else
            printf '%s\t%s\n' $part[2] $part[4]
        end
    end
end

# The line of the table for an option that waits for its value as the next word.
function __hotpath_waiting
    set -l words (__hotpath_words)
    set -q words[2]
    and string match -q -- '-*' $words[-1]
    or return 1
    for line in (__hotpath_table $words[1])
        set -l part (string split \t -- $line)
        if test -n "$part[3]"; and contains -- $words[-1] $part[1] $part[2]
            printf '%s\n' $line
            return 0
        end
    end
    return 1
end

function __hotpath_values
    set -l part (string split \t -- (__hotpath_waiting))
    __hotpath_split_words "$part[3]" "$part[4]" $part[2]
    or __fish_complete_path (commandline -ct)
end

# True where the command is $argv[1], and neither an option nor its value is being written.
function __hotpath_is
    test "$(__hotpath_words)[1]" = "$argv[1]"
    and not string match -q -- '-*' (commandline -ct)
    and not __hotpath_waiting >/dev/null
end

# How many words are there behind the command that are no options and no values.
function __hotpath_operands
    set -l words (__hotpath_words)
    set -l takes (__hotpath_table $words[1] | string replace -rf '^(.*)\t(.*)\t.+\t.*$' '$1\n$2')
    set -l count 0
    set -l skip 0
    for word in $words[2..]
        if test $skip = 1
            set skip 0
        else if test $count -gt 0; or not string match -q -- '-*' $word
            set count (math $count + 1)
        else if contains -- $word $takes
            set skip 1
        end
    end
    echo $count
end

function __hotpath_kept
    __hotpath_ask list | string replace -rf '^(\S+ \S+)  +(.*\S)  +([0-9]+)  .*$' '$3\t$2, $1'
end

for name in hotpath hotpath-run
    complete -c $name -f
    complete -c $name -n 'test (count (__hotpath_words)) -gt 0; and test (__hotpath_operands) = 0; and string match -q -- "-*" (commandline -ct)' -a '(__hotpath_options)'
    complete -c $name -n '__hotpath_waiting >/dev/null' -a '(__hotpath_values)'
    complete -c $name -n '__hotpath_is run; and test (__hotpath_operands) = 0' -a '(__fish_complete_command)'
    complete -c $name -n '__hotpath_is run; and test (__hotpath_operands) -gt 0' -a '(__fish_complete_path (commandline -ct))'
end
complete -c hotpath -n 'test (count (__hotpath_words)) = 0' -a '(__hotpath_commands)'
complete -c hotpath -n '__hotpath_is help' -a '(__hotpath_commands)'
complete -c hotpath -n '__hotpath_is flags' -a 'gcc g++ clang clang++ cc c++'
complete -c hotpath -n '__hotpath_is doctor' -a '(__fish_complete_command)'
complete -c hotpath -n '__hotpath_is stacks' -a '(__fish_complete_pids)'
complete -c hotpath -n '__hotpath_is explain' -a '1 2 3 4 (__hotpath_kept)'
complete -c hotpath -n '__hotpath_is report' -a '(__hotpath_kept; __fish_complete_path (commandline -ct))'
