	.arch armv8-a
	.file	"vfs.c"
	.text
	.section	.rodata
	.align	3
.LC0:
	.string	"close"
	.align	3
.LC1:
	.string	"pwrite"
	.align	3
.LC2:
	.string	"fsync"
	.section	.data.rel,"aw"
	.align	3
	.type	calls, %object
	.size	calls, 72
calls:
	.xword	.LC0
	.xword	close
	.xword	0
	.xword	.LC1
	.xword	pwrite
	.xword	0
	.xword	.LC2
	.xword	fsync
	.xword	0
	.text
	.align	2
	.type	disk_close, %function
disk_close:
.LFB0:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	adrp	x0, calls
	add	x0, x0, :lo12:calls
	ldr	x0, [x0, 8]
	mov	x1, x0
	ldr	x0, [sp, 24]
	ldr	w0, [x0, 8]
	blr	x1
	ldp	x29, x30, [sp], 32
	ret
.LFE0:
	.size	disk_close, .-disk_close
	.align	2
	.type	disk_put, %function
disk_put:
.LFB1:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	x0, [sp, 40]
	str	x1, [sp, 32]
	str	w2, [sp, 28]
	str	x3, [sp, 16]
	adrp	x0, calls
	add	x0, x0, :lo12:calls
	ldr	x0, [x0, 32]
	mov	x4, x0
	ldr	x0, [sp, 40]
	ldr	w0, [x0, 8]
	ldrsw	x1, [sp, 28]
	ldr	x3, [sp, 16]
	mov	x2, x1
	ldr	x1, [sp, 32]
	blr	x4
	ldp	x29, x30, [sp], 48
	ret
.LFE1:
	.size	disk_put, .-disk_put
	.align	2
	.type	disk_sync, %function
disk_sync:
.LFB2:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	str	w1, [sp, 20]
	adrp	x0, calls
	add	x0, x0, :lo12:calls
	ldr	x0, [x0, 56]
	mov	x2, x0
	ldr	x0, [sp, 24]
	ldr	w1, [x0, 8]
	ldr	w0, [sp, 20]
	add	w0, w1, w0
	blr	x2
	ldp	x29, x30, [sp], 32
	ret
.LFE2:
	.size	disk_sync, .-disk_sync
	.align	2
	.type	disk_length, %function
disk_length:
.LFB3:
	sub	sp, sp, #16
	str	x0, [sp, 8]
	str	x1, [sp]
	ldr	x0, [sp, 8]
	ldr	x1, [x0, 16]
	ldr	x0, [sp]
	str	x1, [x0]
	ldr	x0, [sp]
	ldr	x0, [x0]
	add	sp, sp, 16
	ret
.LFE3:
	.size	disk_length, .-disk_length
	.align	2
	.type	memory_put, %function
memory_put:
.LFB4:
	sub	sp, sp, #32
	str	x0, [sp, 24]
	str	x1, [sp, 16]
	str	w2, [sp, 12]
	str	x3, [sp]
	ldr	x0, [sp, 24]
	ldr	w0, [x0, 8]
	ldrsw	x1, [sp, 12]
	ldr	x2, [sp, 16]
	add	x1, x2, x1
	ldrb	w1, [x1]
	add	w0, w0, w1
	ldr	x1, [sp]
	add	w0, w0, w1
	add	sp, sp, 32
	ret
.LFE4:
	.size	memory_put, .-memory_put
	.align	2
	.type	memory_sync, %function
memory_sync:
.LFB5:
	sub	sp, sp, #16
	str	x0, [sp, 8]
	str	w1, [sp, 4]
	ldr	x0, [sp, 8]
	ldr	w1, [x0, 8]
	ldr	w0, [sp, 4]
	add	w0, w1, w0
	add	sp, sp, 16
	ret
.LFE5:
	.size	memory_sync, .-memory_sync
	.section	.data.rel.ro.local,"aw"
	.align	3
	.type	disk, %object
	.size	disk, 40
disk:
	.word	1
	.zero	4
	.xword	disk_close
	.xword	disk_put
	.xword	disk_sync
	.xword	disk_length
	.align	3
	.type	memory, %object
	.size	memory, 40
memory:
	.word	1
	.zero	4
	.xword	0
	.xword	memory_put
	.xword	memory_sync
	.xword	disk_length
	.text
	.align	2
	.global	file_open
	.type	file_open, %function
file_open:
.LFB6:
	sub	sp, sp, #16
	str	x0, [sp, 8]
	str	w1, [sp, 4]
	ldr	w0, [sp, 4]
	cmp	w0, 0
	beq	.L14
	adrp	x0, disk
	add	x0, x0, :lo12:disk
	b	.L15
.L14:
	adrp	x0, memory
	add	x0, x0, :lo12:memory
.L15:
	ldr	x1, [sp, 8]
	str	x0, [x1]
	nop
	add	sp, sp, 16
	ret
.LFE6:
	.size	file_open, .-file_open
	.align	2
	.type	file_write, %function
file_write:
.LFB7:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	x0, [sp, 40]
	str	x1, [sp, 32]
	str	w2, [sp, 28]
	str	x3, [sp, 16]
	ldr	x0, [sp, 40]
	ldr	x0, [x0]
	ldr	x4, [x0, 16]
	ldr	x3, [sp, 16]
	ldr	w2, [sp, 28]
	ldr	x1, [sp, 32]
	ldr	x0, [sp, 40]
	blr	x4
	ldp	x29, x30, [sp], 48
	ret
.LFE7:
	.size	file_write, .-file_write
	.section	.rodata
	.align	3
.LC3:
	.string	"a"
	.text
	.align	2
	.global	file_step
	.type	file_step, %function
file_step:
.LFB8:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	ldr	x0, [sp, 24]
	ldr	x0, [x0, 16]
	mov	x3, x0
	mov	w2, 1
	adrp	x0, .LC3
	add	x1, x0, :lo12:.LC3
	ldr	x0, [sp, 24]
	bl	file_write
	ldp	x29, x30, [sp], 32
	ret
.LFE8:
	.size	file_step, .-file_step
	.align	2
	.global	file_sync
	.type	file_sync, %function
file_sync:
.LFB9:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	ldr	x0, [sp, 24]
	ldr	x0, [x0]
	ldr	x2, [x0, 24]
	mov	w1, 0
	ldr	x0, [sp, 24]
	blr	x2
	ldp	x29, x30, [sp], 32
	ret
.LFE9:
	.size	file_sync, .-file_sync
	.align	2
	.global	file_length
	.type	file_length, %function
file_length:
.LFB10:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	x0, [sp, 24]
	ldr	x0, [sp, 24]
	ldr	x0, [x0]
	ldr	x2, [x0, 32]
	add	x0, sp, 40
	mov	x1, x0
	ldr	x0, [sp, 24]
	blr	x2
	cmp	w0, 0
	beq	.L23
	ldr	x0, [sp, 40]
	b	.L25
.L23:
	mov	x0, 0
.L25:
	ldp	x29, x30, [sp], 48
	ret
.LFE10:
	.size	file_length, .-file_length
	.align	2
	.global	file_fd
	.type	file_fd, %function
file_fd:
.LFB11:
	sub	sp, sp, #16
	str	x0, [sp, 8]
	ldr	x0, [sp, 8]
	ldr	w0, [x0, 8]
	add	sp, sp, 16
	ret
.LFE11:
	.size	file_fd, .-file_fd
	.align	2
	.type	run_length, %function
run_length:
.LFB12:
	sub	sp, sp, #32
	str	x0, [sp, 24]
	str	w1, [sp, 20]
	str	x2, [sp, 8]
	ldrsw	x0, [sp, 20]
	lsl	x0, x0, 3
	ldr	x1, [sp, 8]
	add	x0, x1, x0
	ldr	x1, [x0]
	ldr	x0, [sp, 24]
	str	x1, [x0]
	nop
	add	sp, sp, 32
	ret
.LFE12:
	.size	run_length, .-run_length
	.align	2
	.type	run_sleep, %function
run_sleep:
.LFB13:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	x0, [sp, 40]
	str	w1, [sp, 36]
	str	x2, [sp, 24]
	ldr	w0, [sp, 36]
	bl	usleep
	nop
	ldp	x29, x30, [sp], 48
	ret
.LFE13:
	.size	run_sleep, .-run_sleep
	.section	.rodata
	.align	3
.LC4:
	.string	"length"
	.align	3
.LC5:
	.string	"sleep"
	.section	.data.rel.local,"aw"
	.align	3
	.type	functions, %object
	.size	functions, 48
functions:
	.xword	.LC4
	.word	1
	.zero	4
	.xword	run_length
	.xword	.LC5
	.word	1
	.zero	4
	.xword	run_sleep
	.text
	.align	2
	.global	function_run
	.type	function_run, %function
function_run:
.LFB14:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	w0, [sp, 28]
	str	w1, [sp, 24]
	str	x2, [sp, 16]
	str	xzr, [sp, 40]
	adrp	x0, functions
	add	x2, x0, :lo12:functions
	ldrsw	x1, [sp, 28]
	mov	x0, x1
	lsl	x0, x0, 1
	add	x0, x0, x1
	lsl	x0, x0, 3
	add	x0, x2, x0
	ldr	x3, [x0, 16]
	add	x0, sp, 40
	ldr	x2, [sp, 16]
	ldr	w1, [sp, 24]
	blr	x3
	ldr	x0, [sp, 40]
	ldp	x29, x30, [sp], 48
	ret
.LFE14:
	.size	function_run, .-function_run
	.local	config
	.comm	config,24,8
	.align	2
	.type	thread_enter, %function
thread_enter:
.LFB15:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	ldr	x0, [sp, 24]
	bl	pthread_mutex_lock
	nop
	ldp	x29, x30, [sp], 32
	ret
.LFE15:
	.size	thread_enter, .-thread_enter
	.section	.data.rel.ro.local
	.align	3
	.type	threads, %object
	.size	threads, 16
threads:
	.xword	0
	.xword	thread_enter
	.text
	.align	2
	.type	locks_begin, %function
locks_begin:
.LFB16:
	sub	sp, sp, #16
	adrp	x0, config+8
	add	x0, x0, :lo12:config+8
	str	x0, [sp, 8]
	adrp	x0, threads
	add	x0, x0, :lo12:threads
	str	x0, [sp]
	ldr	x0, [sp]
	ldr	x1, [x0]
	ldr	x0, [sp, 8]
	str	x1, [x0]
	ldr	x0, [sp]
	ldr	x1, [x0, 8]
	ldr	x0, [sp, 8]
	str	x1, [x0, 8]
	nop
	add	sp, sp, 16
	ret
.LFE16:
	.size	locks_begin, .-locks_begin
	.align	2
	.global	column
	.type	column, %function
column:
.LFB17:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	adrp	x0, config
	add	x0, x0, :lo12:config
	ldr	w0, [x0]
	cmp	w0, 0
	bne	.L35
	bl	locks_begin
.L35:
	adrp	x0, config
	add	x0, x0, :lo12:config
	ldr	x1, [x0, 16]
	ldr	x0, [sp, 24]
	blr	x1
	ldr	x0, [sp, 24]
	ldr	w0, [x0, 8]
	ldp	x29, x30, [sp], 32
	ret
.LFE17:
	.size	column, .-column
	.align	2
	.type	quiet, %function
quiet:
.LFB18:
	sub	sp, sp, #16
	str	w0, [sp, 12]
	str	x1, [sp]
	ldr	x0, [sp]
	ldrb	w0, [x0]
	mov	w1, w0
	ldr	w0, [sp, 12]
	add	w0, w1, w0
	add	sp, sp, 16
	ret
.LFE18:
	.size	quiet, .-quiet
	.align	2
	.type	loud, %function
loud:
.LFB19:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	w0, [sp, 28]
	str	x1, [sp, 16]
	mov	x2, 1
	ldr	x1, [sp, 16]
	ldr	w0, [sp, 28]
	bl	read
	ldp	x29, x30, [sp], 32
	ret
.LFE19:
	.size	loud, .-loud
	.align	2
	.type	each, %function
each:
.LFB20:
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	str	x0, [sp, 24]
	str	w1, [sp, 20]
	ldr	x0, [sp, 24]
	str	x0, [sp, 40]
	ldr	x2, [sp, 40]
	adrp	x0, .LC3
	add	x1, x0, :lo12:.LC3
	ldr	w0, [sp, 20]
	blr	x2
	ldp	x29, x30, [sp], 48
	ret
.LFE20:
	.size	each, .-each
	.align	2
	.global	each_of
	.type	each_of, %function
each_of:
.LFB21:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	w0, [sp, 28]
	ldr	w0, [sp, 28]
	cmp	w0, 0
	beq	.L44
	adrp	x0, quiet
	add	x0, x0, :lo12:quiet
	b	.L45
.L44:
	adrp	x0, loud
	add	x0, x0, :lo12:loud
.L45:
	ldr	w1, [sp, 28]
	bl	each
	ldp	x29, x30, [sp], 32
	ret
.LFE21:
	.size	each_of, .-each_of
	.align	2
	.type	compare, %function
compare:
.LFB22:
	sub	sp, sp, #16
	str	x0, [sp, 8]
	str	x1, [sp]
	ldr	x0, [sp, 8]
	ldrb	w0, [x0]
	mov	w1, w0
	ldr	x0, [sp]
	ldrb	w0, [x0]
	sub	w0, w1, w0
	add	sp, sp, 16
	ret
.LFE22:
	.size	compare, .-compare
	.align	2
	.type	compare_read, %function
compare_read:
.LFB23:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	str	x1, [sp, 16]
	mov	x2, 1
	ldr	x1, [sp, 24]
	mov	w0, 0
	bl	read
	mov	w1, w0
	ldr	x0, [sp, 16]
	ldrb	w0, [x0]
	add	w0, w1, w0
	ldp	x29, x30, [sp], 32
	ret
.LFE23:
	.size	compare_read, .-compare_read
	.align	2
	.global	sort
	.type	sort, %function
sort:
.LFB24:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	str	x1, [sp, 16]
	adrp	x0, compare
	add	x3, x0, :lo12:compare
	mov	x2, 1
	ldr	x1, [sp, 16]
	ldr	x0, [sp, 24]
	bl	qsort
	nop
	ldp	x29, x30, [sp], 32
	ret
.LFE24:
	.size	sort, .-sort
	.align	2
	.global	sort_read
	.type	sort_read, %function
sort_read:
.LFB25:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	str	x1, [sp, 16]
	adrp	x0, compare_read
	add	x3, x0, :lo12:compare_read
	mov	x2, 1
	ldr	x1, [sp, 16]
	ldr	x0, [sp, 24]
	bl	qsort
	nop
	ldp	x29, x30, [sp], 32
	ret
.LFE25:
	.size	sort_read, .-sort_read
	.align	2
	.type	last, %function
last:
.LFB26:
	stp	x29, x30, [sp, -64]!
	mov	x29, sp
	str	w0, [sp, 60]
	str	x1, [sp, 48]
	str	x2, [sp, 40]
	str	x3, [sp, 32]
	str	x4, [sp, 24]
	ldr	x0, [sp, 40]
	ldr	x1, [sp, 48]
	add	x0, x1, x0
	ldrb	w0, [x0]
	mov	w1, w0
	ldr	w0, [sp, 60]
	add	w0, w1, w0
	ldr	x1, [sp, 24]
	ldr	x2, [sp, 32]
	add	x1, x2, x1
	ldrb	w1, [x1]
	add	w0, w0, w1
	bl	usleep
	ldp	x29, x30, [sp], 64
	ret
.LFE26:
	.size	last, .-last
	.align	2
	.global	last_of
	.type	last_of, %function
last_of:
.LFB27:
	adrp	x0, last
	add	x0, x0, :lo12:last
	ret
.LFE27:
	.size	last_of, .-last_of
	.align	2
	.global	anything
	.type	anything, %function
anything:
.LFB28:
	stp	x29, x30, [sp, -32]!
	mov	x29, sp
	str	x0, [sp, 24]
	bl	last_of
	mov	x5, x0
	mov	x4, 3
	ldr	x3, [sp, 24]
	mov	x2, 2
	ldr	x1, [sp, 24]
	mov	w0, 1
	blr	x5
	ldp	x29, x30, [sp], 32
	ret
.LFE28:
	.size	anything, .-anything
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
