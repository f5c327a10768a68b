// SPDX-License-Identifier: BSL-1.0
// With an assembly file a package may declare functions without a body, as kueue.go does.
