#!/bin/sh
# How full disks are, as a tool; and a guard that forbids to format one.
tab=$(printf '\t')
say() ( IFS=$tab; printf '%s\n' "$*" )
say hello 1.0
say tool disk_free 'How full the disk is that has a folder.' folder
say guard
say ready
while IFS=$tab read -r word id tool rest; do
  case $word:$tool:$rest in
    call:disk_free:*)
      text=$(df -hP "${rest#folder=}" 2>&1) && end=done || end=failed
      printf '%s\n' "$text" | while IFS= read -r line; do say out "$id" "$line"; done
      say "$end" "$id" ;;
    judge:bash:*mkfs*) say deny "$id" 'it would format a disk' ;;
    judge:*) say allow "$id" ;;
  esac
done
