/* SPDX-License-Identifier: MIT
 *
 * A header whose last line is its guard's.
 */
#ifndef GUARDED_H
#define GUARDED_H
#define GUARDED 5
#endif
