	.file	"vfs.c"
	.text
	.section	.rodata
.LC0:
	.string	"close"
.LC1:
	.string	"pwrite"
.LC2:
	.string	"fsync"
	.section	.data.rel,"aw"
	.align 32
	.type	calls, @object
	.size	calls, 72
calls:
	.quad	.LC0
	.quad	close
	.quad	0
	.quad	.LC1
	.quad	pwrite
	.quad	0
	.quad	.LC2
	.quad	fsync
	.quad	0
	.text
	.type	disk_close, @function
disk_close:
.LFB0:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	8+calls(%rip), %rax
	movq	%rax, %rdx
	movq	-8(%rbp), %rax
	movl	8(%rax), %eax
	movl	%eax, %edi
	call	*%rdx
	leave
	ret
.LFE0:
	.size	disk_close, .-disk_close
	.type	disk_put, @function
disk_put:
.LFB1:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movl	%edx, -20(%rbp)
	movq	%rcx, -32(%rbp)
	movq	32+calls(%rip), %rax
	movq	%rax, %r8
	movl	-20(%rbp), %eax
	movslq	%eax, %rdx
	movq	-8(%rbp), %rax
	movl	8(%rax), %eax
	movq	-32(%rbp), %rcx
	movq	-16(%rbp), %rsi
	movl	%eax, %edi
	call	*%r8
	leave
	ret
.LFE1:
	.size	disk_put, .-disk_put
	.type	disk_sync, @function
disk_sync:
.LFB2:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movl	%esi, -12(%rbp)
	movq	56+calls(%rip), %rax
	movq	%rax, %rcx
	movq	-8(%rbp), %rax
	movl	8(%rax), %edx
	movl	-12(%rbp), %eax
	addl	%edx, %eax
	movl	%eax, %edi
	call	*%rcx
	leave
	ret
.LFE2:
	.size	disk_sync, .-disk_sync
	.type	disk_length, @function
disk_length:
.LFB3:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-8(%rbp), %rax
	movq	16(%rax), %rdx
	movq	-16(%rbp), %rax
	movq	%rdx, (%rax)
	movq	-16(%rbp), %rax
	movq	(%rax), %rax
	popq	%rbp
	ret
.LFE3:
	.size	disk_length, .-disk_length
	.type	memory_put, @function
memory_put:
.LFB4:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movl	%edx, -20(%rbp)
	movq	%rcx, -32(%rbp)
	movq	-8(%rbp), %rax
	movl	8(%rax), %edx
	movl	-20(%rbp), %eax
	movslq	%eax, %rcx
	movq	-16(%rbp), %rax
	addq	%rcx, %rax
	movzbl	(%rax), %eax
	movsbl	%al, %eax
	addl	%eax, %edx
	movq	-32(%rbp), %rax
	addl	%edx, %eax
	popq	%rbp
	ret
.LFE4:
	.size	memory_put, .-memory_put
	.type	memory_sync, @function
memory_sync:
.LFB5:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movl	%esi, -12(%rbp)
	movq	-8(%rbp), %rax
	movl	8(%rax), %edx
	movl	-12(%rbp), %eax
	addl	%edx, %eax
	popq	%rbp
	ret
.LFE5:
	.size	memory_sync, .-memory_sync
	.section	.data.rel.ro.local,"aw"
	.align 32
	.type	disk, @object
	.size	disk, 40
disk:
	.long	1
	.zero	4
	.quad	disk_close
	.quad	disk_put
	.quad	disk_sync
	.quad	disk_length
	.align 32
	.type	memory, @object
	.size	memory, 40
memory:
	.long	1
	.zero	4
	.quad	0
	.quad	memory_put
	.quad	memory_sync
	.quad	disk_length
	.text
	.globl	file_open
	.type	file_open, @function
file_open:
.LFB6:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movl	%esi, -12(%rbp)
	cmpl	$0, -12(%rbp)
	je	.L14
	leaq	disk(%rip), %rax
	jmp	.L15
.L14:
	leaq	memory(%rip), %rax
.L15:
	movq	-8(%rbp), %rdx
	movq	%rax, (%rdx)
	nop
	popq	%rbp
	ret
.LFE6:
	.size	file_open, .-file_open
	.type	file_write, @function
file_write:
.LFB7:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movl	%edx, -20(%rbp)
	movq	%rcx, -32(%rbp)
	movq	-8(%rbp), %rax
	movq	(%rax), %rax
	movq	16(%rax), %r8
	movq	-32(%rbp), %rcx
	movl	-20(%rbp), %edx
	movq	-16(%rbp), %rsi
	movq	-8(%rbp), %rax
	movq	%rax, %rdi
	call	*%r8
	leave
	ret
.LFE7:
	.size	file_write, .-file_write
	.section	.rodata
.LC3:
	.string	"a"
	.text
	.globl	file_step
	.type	file_step, @function
file_step:
.LFB8:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	-8(%rbp), %rax
	movq	16(%rax), %rdx
	movq	-8(%rbp), %rax
	movq	%rdx, %rcx
	movl	$1, %edx
	leaq	.LC3(%rip), %rsi
	movq	%rax, %rdi
	call	file_write
	leave
	ret
.LFE8:
	.size	file_step, .-file_step
	.globl	file_sync
	.type	file_sync, @function
file_sync:
.LFB9:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	-8(%rbp), %rax
	movq	(%rax), %rax
	movq	24(%rax), %rdx
	movq	-8(%rbp), %rax
	movl	$0, %esi
	movq	%rax, %rdi
	call	*%rdx
	leave
	ret
.LFE9:
	.size	file_sync, .-file_sync
	.globl	file_length
	.type	file_length, @function
file_length:
.LFB10:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	%rdi, -24(%rbp)
	movq	-24(%rbp), %rax
	movq	(%rax), %rax
	movq	32(%rax), %rcx
	leaq	-8(%rbp), %rdx
	movq	-24(%rbp), %rax
	movq	%rdx, %rsi
	movq	%rax, %rdi
	call	*%rcx
	testl	%eax, %eax
	je	.L23
	movq	-8(%rbp), %rax
	jmp	.L25
.L23:
	movl	$0, %eax
.L25:
	leave
	ret
.LFE10:
	.size	file_length, .-file_length
	.globl	file_fd
	.type	file_fd, @function
file_fd:
.LFB11:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movq	-8(%rbp), %rax
	movl	8(%rax), %eax
	popq	%rbp
	ret
.LFE11:
	.size	file_fd, .-file_fd
	.type	run_length, @function
run_length:
.LFB12:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movl	%esi, -12(%rbp)
	movq	%rdx, -24(%rbp)
	movl	-12(%rbp), %eax
	cltq
	leaq	0(,%rax,8), %rdx
	movq	-24(%rbp), %rax
	addq	%rdx, %rax
	movq	(%rax), %rdx
	movq	-8(%rbp), %rax
	movq	%rdx, (%rax)
	nop
	popq	%rbp
	ret
.LFE12:
	.size	run_length, .-run_length
	.type	run_sleep, @function
run_sleep:
.LFB13:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	%rdi, -8(%rbp)
	movl	%esi, -12(%rbp)
	movq	%rdx, -24(%rbp)
	movl	-12(%rbp), %eax
	movl	%eax, %edi
	call	usleep@PLT
	nop
	leave
	ret
.LFE13:
	.size	run_sleep, .-run_sleep
	.section	.rodata
.LC4:
	.string	"length"
.LC5:
	.string	"sleep"
	.section	.data.rel.local,"aw"
	.align 32
	.type	functions, @object
	.size	functions, 48
functions:
	.quad	.LC4
	.long	1
	.zero	4
	.quad	run_length
	.quad	.LC5
	.long	1
	.zero	4
	.quad	run_sleep
	.text
	.globl	function_run
	.type	function_run, @function
function_run:
.LFB14:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movl	%edi, -20(%rbp)
	movl	%esi, -24(%rbp)
	movq	%rdx, -32(%rbp)
	movq	$0, -8(%rbp)
	movl	-20(%rbp), %eax
	movslq	%eax, %rdx
	movq	%rdx, %rax
	addq	%rax, %rax
	addq	%rdx, %rax
	salq	$3, %rax
	movq	%rax, %rdx
	leaq	16+functions(%rip), %rax
	movq	(%rdx,%rax), %r8
	movq	-32(%rbp), %rdx
	movl	-24(%rbp), %ecx
	leaq	-8(%rbp), %rax
	movl	%ecx, %esi
	movq	%rax, %rdi
	call	*%r8
	movq	-8(%rbp), %rax
	leave
	ret
.LFE14:
	.size	function_run, .-function_run
	.local	config
	.comm	config,24,16
	.type	thread_enter, @function
thread_enter:
.LFB15:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	-8(%rbp), %rax
	movq	%rax, %rdi
	call	pthread_mutex_lock@PLT
	nop
	leave
	ret
.LFE15:
	.size	thread_enter, .-thread_enter
	.section	.data.rel.ro.local
	.align 16
	.type	threads, @object
	.size	threads, 16
threads:
	.quad	0
	.quad	thread_enter
	.text
	.type	locks_begin, @function
locks_begin:
.LFB16:
	pushq	%rbp
	movq	%rsp, %rbp
	leaq	8+config(%rip), %rax
	movq	%rax, -8(%rbp)
	leaq	threads(%rip), %rax
	movq	%rax, -16(%rbp)
	movq	-16(%rbp), %rax
	movq	(%rax), %rdx
	movq	-8(%rbp), %rax
	movq	%rdx, (%rax)
	movq	-16(%rbp), %rax
	movq	8(%rax), %rdx
	movq	-8(%rbp), %rax
	movq	%rdx, 8(%rax)
	nop
	popq	%rbp
	ret
.LFE16:
	.size	locks_begin, .-locks_begin
	.globl	column
	.type	column, @function
column:
.LFB17:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movl	config(%rip), %eax
	testl	%eax, %eax
	jne	.L35
	call	locks_begin
.L35:
	movq	16+config(%rip), %rdx
	movq	-8(%rbp), %rax
	movq	%rax, %rdi
	call	*%rdx
	movq	-8(%rbp), %rax
	movl	8(%rax), %eax
	leave
	ret
.LFE17:
	.size	column, .-column
	.type	quiet, @function
quiet:
.LFB18:
	pushq	%rbp
	movq	%rsp, %rbp
	movl	%edi, -4(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-16(%rbp), %rax
	movzbl	(%rax), %eax
	movsbl	%al, %edx
	movl	-4(%rbp), %eax
	addl	%edx, %eax
	popq	%rbp
	ret
.LFE18:
	.size	quiet, .-quiet
	.type	loud, @function
loud:
.LFB19:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movl	%edi, -4(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-16(%rbp), %rcx
	movl	-4(%rbp), %eax
	movl	$1, %edx
	movq	%rcx, %rsi
	movl	%eax, %edi
	call	read@PLT
	leave
	ret
.LFE19:
	.size	loud, .-loud
	.type	each, @function
each:
.LFB20:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	%rdi, -24(%rbp)
	movl	%esi, -28(%rbp)
	movq	-24(%rbp), %rax
	movq	%rax, -8(%rbp)
	movl	-28(%rbp), %eax
	movq	-8(%rbp), %rdx
	leaq	.LC3(%rip), %rcx
	movq	%rcx, %rsi
	movl	%eax, %edi
	call	*%rdx
	leave
	ret
.LFE20:
	.size	each, .-each
	.globl	each_of
	.type	each_of, @function
each_of:
.LFB21:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movl	%edi, -4(%rbp)
	cmpl	$0, -4(%rbp)
	je	.L44
	leaq	quiet(%rip), %rax
	jmp	.L45
.L44:
	leaq	loud(%rip), %rax
.L45:
	movl	-4(%rbp), %edx
	movl	%edx, %esi
	movq	%rax, %rdi
	call	each
	leave
	ret
.LFE21:
	.size	each_of, .-each_of
	.type	compare, @function
compare:
.LFB22:
	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-8(%rbp), %rax
	movzbl	(%rax), %eax
	movsbl	%al, %edx
	movq	-16(%rbp), %rax
	movzbl	(%rax), %eax
	movsbl	%al, %eax
	subl	%eax, %edx
	movl	%edx, %eax
	popq	%rbp
	ret
.LFE22:
	.size	compare, .-compare
	.type	compare_read, @function
compare_read:
.LFB23:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-8(%rbp), %rax
	movl	$1, %edx
	movq	%rax, %rsi
	movl	$0, %edi
	call	read@PLT
	movl	%eax, %edx
	movq	-16(%rbp), %rax
	movzbl	(%rax), %eax
	movsbl	%al, %eax
	addl	%edx, %eax
	leave
	ret
.LFE23:
	.size	compare_read, .-compare_read
	.globl	sort
	.type	sort, @function
sort:
.LFB24:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-16(%rbp), %rsi
	movq	-8(%rbp), %rax
	leaq	compare(%rip), %rdx
	movq	%rdx, %rcx
	movl	$1, %edx
	movq	%rax, %rdi
	call	qsort@PLT
	nop
	leave
	ret
.LFE24:
	.size	sort, .-sort
	.globl	sort_read
	.type	sort_read, @function
sort_read:
.LFB25:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	movq	%rsi, -16(%rbp)
	movq	-16(%rbp), %rsi
	movq	-8(%rbp), %rax
	leaq	compare_read(%rip), %rdx
	movq	%rdx, %rcx
	movl	$1, %edx
	movq	%rax, %rdi
	call	qsort@PLT
	nop
	leave
	ret
.LFE25:
	.size	sort_read, .-sort_read
	.type	last, @function
last:
.LFB26:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$48, %rsp
	movl	%edi, -4(%rbp)
	movq	%rsi, -16(%rbp)
	movq	%rdx, -24(%rbp)
	movq	%rcx, -32(%rbp)
	movq	%r8, -40(%rbp)
	movq	-24(%rbp), %rdx
	movq	-16(%rbp), %rax
	addq	%rdx, %rax
	movzbl	(%rax), %eax
	movsbl	%al, %edx
	movl	-4(%rbp), %eax
	leal	(%rdx,%rax), %ecx
	movq	-40(%rbp), %rdx
	movq	-32(%rbp), %rax
	addq	%rdx, %rax
	movzbl	(%rax), %eax
	movsbl	%al, %eax
	addl	%ecx, %eax
	movl	%eax, %edi
	call	usleep@PLT
	leave
	ret
.LFE26:
	.size	last, .-last
	.globl	last_of
	.type	last_of, @function
last_of:
.LFB27:
	pushq	%rbp
	movq	%rsp, %rbp
	leaq	last(%rip), %rax
	popq	%rbp
	ret
.LFE27:
	.size	last_of, .-last_of
	.globl	anything
	.type	anything, @function
anything:
.LFB28:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$16, %rsp
	movq	%rdi, -8(%rbp)
	call	last_of
	movq	-8(%rbp), %rdx
	movq	-8(%rbp), %rsi
	movl	$3, %r8d
	movq	%rdx, %rcx
	movl	$2, %edx
	movl	$1, %edi
	call	*%rax
	leave
	ret
.LFE28:
	.size	anything, .-anything
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
