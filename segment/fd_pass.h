/* SPDX-License-Identifier: MIT */
/*
 * fd_pass.h - one descriptor in one message over a unix socket (SCM_RIGHTS, see unix(7)).
 *
 * Used inside the target: system calls only, no malloc; thread-safe and async-signal-safe.
 * errno is not kept.
 */
#ifndef HP_SEGMENT_FD_PASS_H
#define HP_SEGMENT_FD_PASS_H

/* Sends `fd` with a message of one byte.  Never waits; a message that does not fit is lost. */
void hp_fd_send(int socket, int fd);

/*
 * Takes the descriptor of the next message; it is closed at exec.  `flags` as for recvmsg(2).
 * Returns it, -errno of recvmsg(2), -ENODATA at the end, or -EPROTO: the message did not have
 * exactly one. Then all its descriptors are closed.
 */
int hp_fd_receive(int socket, int flags);

/*
 * The same for a reader.  Root's readers open what a segment names with the rights of the file's
 * owner, so a peer other than root may only pass regular files of its own, of which the kernel
 * itself answers reads (fd_prompt.h): -EPERM otherwise.
 */
int hp_fd_receive_to_read(int socket, int flags);

#endif
