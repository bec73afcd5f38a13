/* SPDX-License-Identifier: MIT */
/* call_sizes.c - pointers whose object depends on the command that a call is
 * given: how long, and which way. 0: the kernel does not look at it. */
#include "call_table.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/reboot.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/shm.h>

#define BY_(name)                                                          \
	static size_t name(const long v[6] __attribute__((unused)),        \
			   unsigned *how __attribute__((unused)))

/* ---- System V ---------------------------------------------------------- */

static size_t ipc_object(int cmd, unsigned *how, size_t info, size_t object)
{
	switch (cmd) {
	case IPC_INFO:
		return info;
	case IPC_SET:
		*how = READ;
		return object;
	case IPC_STAT:
		return object;
	default:
		return 0;
	}
}

BY_(shm_object)
{
	const int cmd = (int)v[1];

	if (cmd == SHM_INFO)
		return sizeof(struct shm_info);
	return ipc_object(cmd == SHM_STAT || cmd == SHM_STAT_ANY ? IPC_STAT
								 : cmd,
			  how, sizeof(struct shminfo), sizeof(struct shmid_ds));
}

BY_(msg_object)
{
	const int cmd = (int)v[1];

	return ipc_object(cmd == MSG_STAT || cmd == MSG_STAT_ANY ? IPC_STAT
			  : cmd == MSG_INFO			 ? IPC_INFO
								 : cmd,
			  how, sizeof(struct msginfo), sizeof(struct msqid_ds));
}

/* All values of a set: the kernel knows how many. */
static size_t sem_values(int id)
{
	struct semid_ds set;

	return fm_sys4(SYS_semctl, id, 0, IPC_STAT, &set) < 0 ?
		       0 : set.sem_nsems * sizeof(unsigned short);
}

BY_(sem_object)
{
	const int cmd = (int)v[2];

	if (cmd == GETALL || cmd == SETALL) {
		*how = cmd == GETALL ? FILL : READ;
		return sem_values((int)v[0]);
	}
	return ipc_object(cmd == SEM_STAT || cmd == SEM_STAT_ANY ? IPC_STAT
			  : cmd == SEM_INFO			 ? IPC_INFO
								 : cmd,
			  how, sizeof(struct seminfo), sizeof(struct semid_ds));
}

BY_(msg_sent)
{
	*how = READ;
	return (size_t)v[2] + sizeof(long);
}

BY_(msg_received)
{
	*how = FILL; /* as long as the message is */
	return (size_t)v[2] + sizeof(long);
}

/* ---- the rest ---------------------------------------------------------- */

/* Those that are only read may lie in read-only memory. */
BY_(fcntl_object)
{
	const int cmd = (int)v[1];

	*how = cmd == F_GETLK || cmd == F_OFD_GETLK || cmd == F_GETOWN_EX ||
			       cmd == F_GET_RW_HINT ||
			       cmd == F_GET_FILE_RW_HINT ?
		       BOTH | WHOLE : READ;
	switch (cmd) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return sizeof(struct flock);
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return sizeof(struct f_owner_ex);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

/* The first version has one, the others two. */
static size_t capabilities(long header)
{
	struct __user_cap_header_struct h;

	return !fm_user_read(&h, (void *)header, sizeof(h)) ? 0 :
	       (h.version == _LINUX_CAPABILITY_VERSION_1 ? 1u : 2u) *
			sizeof(struct __user_cap_data_struct);
}

BY_(cap_filled)
{
	return capabilities(v[0]);
}

BY_(cap_read)
{
	*how = READ;
	return capabilities(v[0]);
}

static size_t name_bytes(long p, size_t max)
{
	ssize_t n = fm_user_strnlen((const char *)p, max);

	return n < 0 ? 0 : (size_t)n + 1;
}

BY_(sysfs_name)
{
	*how = READ;
	return v[0] == 1 ? name_bytes(v[1], 256) : 0;
}

BY_(sysfs_filled)
{
	*how = FILL;
	return v[0] == 2 ? 16 : 0;
}

/* Read: 0 and 2. */
BY_(ldt_object)
{
	*how = v[0] == 0 || v[0] == 2 ? FILL : READ;
	return v[2] > 0 && v[2] <= 65536 ? (size_t)v[2] : 0;
}

BY_(prctl_object)
{
	switch ((int)v[0]) {
	case PR_SET_NAME:
		*how = READ;
		return fm_usable((const void *)v[1], 16, false);
	case PR_GET_NAME:
		return 16;
	case PR_GET_PDEATHSIG:
	case PR_GET_CHILD_SUBREAPER:
	case PR_GET_TSC:
		return sizeof(int);
	case PR_GET_TID_ADDRESS:
		return sizeof(void *);
	default:
		return 0;
	}
}

BY_(arch_filled)
{
	return fm_arch_prctl_fills(v[0]) ? sizeof(long) : 0;
}

BY_(reboot_word)
{
	*how = READ;
	return (unsigned)v[2] == LINUX_REBOOT_CMD_RESTART2 ?
		       name_bytes(v[3], 256) : 0;
}

static size_t quota(int cmd, unsigned *how)
{
	switch ((unsigned)cmd >> SUBCMDSHIFT) {
	case Q_SETQUOTA:
	case Q_SETINFO:
		*how = READ;
		return cmd >> SUBCMDSHIFT == Q_SETINFO ?
			       sizeof(struct dqinfo) : sizeof(struct dqblk);
	case Q_GETQUOTA:
		return sizeof(struct dqblk);
	case Q_GETINFO:
		return sizeof(struct dqinfo);
	case Q_GETFMT:
		return sizeof(int);
	case Q_GETNEXTQUOTA:
		return sizeof(struct dqblk) + 8;
	default:
		return 0;
	}
}

BY_(quota_object)
{
	*how = READ;
	if ((unsigned)v[0] >> SUBCMDSHIFT == Q_QUOTAON)
		return name_bytes(v[3], PATH_MAX);
	*how = FILL;
	return quota((int)v[0], how);
}

BY_(quota_fd_object)
{
	return quota((int)v[1], how);
}

BY_(fsconfig_value)
{
	*how = READ;
	switch ((int)v[1]) {
	case FSCONFIG_SET_STRING:
	case FSCONFIG_SET_PATH:
	case FSCONFIG_SET_PATH_EMPTY:
		return name_bytes(v[3], PATH_MAX);
	case FSCONFIG_SET_BINARY:
		return (int)v[4] > 0 ? (size_t)(int)v[4] : 0;
	default:
		return 0;
	}
}

/* An int, or what is 64 bits long with AT_HANDLE_MNT_ID_UNIQUE (Linux 6.12). */
BY_(mount_id)
{
	return v[4] & 1 ? sizeof(uint64_t) : sizeof(int);
}

size_t fm_ptr_by(enum fm_ptr_by which, const long v[6], unsigned *how);
size_t fm_ptr_by(enum fm_ptr_by which, const long v[6], unsigned *how)
{
	static size_t (*const by[])(const long v[6], unsigned *how) = {
#define ENTRY(name) name,
		FM_PTR_BYS(ENTRY)
	};

	*how = FILL | WHOLE;
	return by[which](v, how);
}
