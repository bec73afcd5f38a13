/* SPDX-License-Identifier: MIT */
/*
 * io_pointed.c - what the argument of an ioctl points to.
 *
 * The kernel uses it without our seeing how much, at once or for as long as the
 * descriptor lives. Of the requests in the table that is known: all of it is
 * brought in for the call, or becomes the kernel's, in however many mappings it
 * lies. Of others any word of an argument whose number says its size may be an
 * address: the mapping that it lies in becomes the kernel's.
 */
#include "guard.h"
#include "io_copy.h"

#include <linux/kvm.h>
#include <linux/nvme_ioctl.h>
#include <linux/usbdevice_fs.h>
#include <linux/userfaultfd.h>
#include <linux/vfio.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>

static const enum fm_server_reason why = FM_WHY_IOCTL;

/* Used later, too, or stored to; or read, and no more: after what its request
 * keeps. */
enum { KEEPS, READS };

static const struct pointed {
	uint32_t req;
	uint8_t at, len_at, len_size, how; /* in the argument */
} pointed[] = {
#define SIZE_OF(type, member) sizeof(((type *)0)->member)
#define POINTS(req, type, p, n, how)                        \
	{ (uint32_t)(req), offsetof(type, p), offsetof(type, n), \
	  SIZE_OF(type, n), how },
	POINTS(UFFDIO_COPY, struct uffdio_copy, dst, len, KEEPS)
	POINTS(UFFDIO_COPY, struct uffdio_copy, src, len, READS)
	POINTS(UFFDIO_REGISTER, struct uffdio_register, range.start, range.len,
	       KEEPS)
	POINTS(UFFDIO_UNREGISTER, struct uffdio_range, start, len, KEEPS)
	POINTS(UFFDIO_WRITEPROTECT, struct uffdio_writeprotect, range.start,
	       range.len, KEEPS)
	POINTS(UFFDIO_ZEROPAGE, struct uffdio_zeropage, range.start, range.len,
	       KEEPS)
	POINTS(UFFDIO_CONTINUE, struct uffdio_continue, range.start, range.len,
	       KEEPS)
	POINTS(KVM_SET_USER_MEMORY_REGION, struct kvm_userspace_memory_region,
	       userspace_addr, memory_size, KEEPS)
	POINTS(VFIO_IOMMU_MAP_DMA, struct vfio_iommu_type1_dma_map, vaddr, size,
	       KEEPS)
	POINTS(SG_IO, struct sg_io_hdr, dxferp, dxfer_len, KEEPS)
	POINTS(SG_IO, struct sg_io_hdr, cmdp, cmd_len, KEEPS)
	POINTS(SG_IO, struct sg_io_hdr, sbp, mx_sb_len, KEEPS)
	POINTS(NVME_IOCTL_ADMIN_CMD, struct nvme_passthru_cmd, addr, data_len,
	       KEEPS)
	POINTS(NVME_IOCTL_ADMIN_CMD, struct nvme_passthru_cmd, metadata,
	       metadata_len, KEEPS)
	POINTS(NVME_IOCTL_IO_CMD, struct nvme_passthru_cmd, addr, data_len,
	       KEEPS)
	POINTS(NVME_IOCTL_IO_CMD, struct nvme_passthru_cmd, metadata,
	       metadata_len, KEEPS)
	POINTS(USBDEVFS_CONTROL, struct usbdevfs_ctrltransfer, data, wLength,
	       KEEPS)
	POINTS(USBDEVFS_BULK, struct usbdevfs_bulktransfer, data, len, KEEPS)
	POINTS(USBDEVFS_SUBMITURB, struct usbdevfs_urb, buffer, buffer_length,
	       KEEPS)
};

/* More than may be pinned is the kernel's; and all where the argument is to be
 * pinned as well, of which this could be another view. */
static void use_pointed(const struct pointed *p, const void *arg, void *at,
			size_t len, struct fm_pin *pin)
{
	if (p->how != READS || len > fm_pin_limit() || fm_touches(arg, 1) ||
	    fm_pin(pin, at, len, false) < 0)
		fm_demote_touched(at, len, why);
}

/* A confined process has no read that can fail. There a number without a size
 * may be another device's, and the argument a value. */
static bool may_look(unsigned long req)
{
	return _IOC_SIZE(req) || !fm_sys_confined();
}

/* False: the request is not in the table. */
static bool pointed_known(unsigned long req, const char *arg,
			  struct fm_pin *pin)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(pointed) / sizeof(*pointed); i++) {
		const struct pointed *p = &pointed[i];
		uint64_t len = 0;
		void *at;

		if (p->req != req)
			continue;
		known = true;
		if (may_look(req) &&
		    fm_user_read(&at, arg + p->at, sizeof(at)) &&
		    fm_user_read(&len, arg + p->len_at, p->len_size))
			use_pointed(p, arg, at, len, pin);
	}
	return known;
}

void fm_ioctl_pointed(unsigned long req, const char *arg, struct fm_pin *pin)
{
	const size_t size = _IOC_SIZE(req) & ~7ul;
	uint64_t words[64];

	if (pointed_known(req, arg, pin) || !(_IOC_DIR(req) & _IOC_WRITE) ||
	    fm_sys_confined())
		return;
	for (size_t at = 0; at < size; at += sizeof(words)) {
		const size_t n = size - at < sizeof(words) ? size - at :
							     sizeof(words);

		if (!fm_user_read(words, arg + at, n))
			return;
		for (size_t i = 0; i < n / 8; i++)
			fm_demote_touched((void *)(uintptr_t)words[i], 1, why);
	}
}
