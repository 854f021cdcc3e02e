#!/bin/bash
for a in "$@"; do case $a in --output_file=*) : > "${a#*=}";; esac; done
