/* SPDX-License-Identifier: MIT */
/*
 * ticket.h - who waits for what has been asked for, however many pieces it is
 * done in.
 *
 * A ticket counts what is left to do: the asker, each piece that waits, each
 * that is under way. A piece may be wanted by several tickets, and carries a
 * mask of them, a bit each. A ticket ends with its last piece, and nobody has
 * to give it back: its number names a slot and how often that had been used by
 * then, so who asks later sees that it is over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_TICKETS 64 /* bits: of a mask */

/* [any] A ticket with one piece, the asker's own, and its mask; 0 and no bit:
 * there are as many as there can be, and nobody can wait for this one. */
uint64_t fm_ticket_take(uint64_t *ret_mask);
/* [fault] One piece more, or one less, of each ticket of the mask. Who adds one
 * has another. */
void fm_ticket_add(uint64_t mask);
void fm_ticket_drop(uint64_t mask);

/* [any] Is it over? -EINVAL: there has never been such a ticket. 0 or 1. */
int fm_ticket_over(uint64_t ticket);
/* [any] Wait until it is; ms -1: for ever. 0; -ETIMEDOUT, -EINTR, -EINVAL. */
int fm_ticket_wait(uint64_t ticket, int ms);
/* [any] That are not over. */
unsigned fm_ticket_count(void);
/* [any] A new descriptor for the program, readable when the ticket is over. Or
 * -errno; -EBUSY: the ticket has one. */
int fm_ticket_fd(uint64_t ticket);
