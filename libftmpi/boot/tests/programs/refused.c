/* Does something that an image cannot contain, prints why there is no image, and undoes it.
 * usage: refused LETTER */
#include "rank.h"
#include <alloca.h>
#include <arpa/inet.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static volatile int done, there;
static void *be_another(void *none)
{
    /* This thread alone, as file servers do it. */
    require(syscall(SYS_setfsuid, 65534) == 0);
    there = 1;
    while (!done)
        usleep(1000);
    return none;
}

static pthread_mutex_t robust;
static pthread_cond_t call = PTHREAD_COND_INITIALIZER;
static volatile int called;
static void *wait_for_call(void *none)
{
    require(pthread_mutex_lock(&robust) == 0);
    called = 1;
    require(pthread_cond_wait(&call, &robust) == 0 && pthread_mutex_unlock(&robust) == 0);
    return none;
}

/* The thread takes the mutex again inside of pthread_cond_wait, and waits for the main thread. */
static void call_it(pthread_t *thread)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    require(pthread_mutex_init(&robust, &how) == 0);
    require(pthread_create(thread, 0, wait_for_call, 0) == 0);
    while (!called)
        usleep(1000);
    require(pthread_mutex_lock(&robust) == 0 && pthread_cond_signal(&call) == 0);
}

static void filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = { 1, &allow };
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0);
}

static void drop(void)
{
    struct { uint32_t version; int pid; } head = { 0x20080522, 0 };
    uint32_t sets[6];
    require(syscall(SYS_capget, &head, sets) == 0);
    sets[0] &= ~1u; /* effective: CAP_CHOWN */
    require(syscall(SYS_capset, &head, sets) == 0);
}

static void *wait_for_it(void *none)
{
    /* By the bare system call, as helper threads of the C library do. */
    uint64_t all = ~0ull;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
    there = 1;
    while (!done)
        usleep(1000);
    return none;
}

/* The main thread has ended. */
static void *go_on_alone(void *none)
{
    char why[300];
    usleep(20000);
    int code = boot->can_capture(why, sizeof why);
    printf("%d %s\n", code, why);
    fflush(stdout);
    usleep(1500000);
    exit(0);
    return none;
}

/* A process that is no child of this one has the second end for some seconds. */
static void leave(int pair[2])
{
    pid_t between = fork();
    if (between == 0) {
        if (fork() == 0)
            sleep(3);
        _exit(0);
    }
    require(waitpid(between, 0, 0) == between && close(pair[1]) == 0);
    pair[1] = -1;
}

static void pass(int socket, int fd)
{
    struct iovec part = { "x", 1 };
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof fd)]; } control = { { CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    require(sendmsg(socket, &message, 0) == 1);
}

int main(int argc, char **argv)
{
    require(argc == 2);
    be_a_rank();
    char why[300];
    require(boot->can_capture(why, sizeof why) == 0 && why[0] == 0);
    pthread_t thread;
    int pair[2] = { -1, -1 }, fd = -1, back = -1;
    pid_t child = 0;
    void *memory = MAP_FAILED;
    timer_t timer;
    clockid_t clock;
    struct sigevent event = { .sigev_notify = SIGEV_NONE };
    char name[64] = "";
    int set = -1, queue = -1, key = -1;
    switch (argv[1][0]) {
    case 't': require(pthread_create(&thread, 0, wait_for_it, 0) == 0); break;
    case 'p':
        /* Another process has the other end, as in 'u'. */
        require(pipe(pair) == 0);
        leave(pair);
        break;
    case 's':
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        leave(pair);
        break;
    case 'e': {
        /* A connection over the network. */
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof any;
        pair[0] = socket(AF_INET, SOCK_STREAM, 0);
        require(bind(pair[0], (void *)&any, len) == 0 && listen(pair[0], 1) == 0 && getsockname(pair[0], (void *)&any, &len) == 0);
        pair[1] = socket(AF_INET, SOCK_STREAM, 0);
        require(connect(pair[1], (void *)&any, len) == 0);
        break;
    }
    case 'j':
        /* A descriptor is on its way. */
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        pass(pair[0], 0);
        break;
    case 'u':
        /* A process that is no child of this one opens the file, too. */
        fd = open(".", O_TMPFILE | O_RDWR, 0600);
        require(fd >= 0 && pipe(pair) == 0);
        char path[64];
        sprintf(path, "/proc/%d/fd/%d", getpid(), fd);
        pid_t between = fork();
        if (between == 0) {
            if (fork() == 0) {
                int theirs = open(path, O_RDWR);
                close(fd);
                require(theirs >= 0 && write(pair[1], "x", 1) == 1);
                sleep(3);
            }
            _exit(0);
        }
        char said;
        require(waitpid(between, 0, 0) == between && read(pair[0], &said, 1) == 1);
        close(pair[0]);
        close(pair[1]);
        pair[0] = pair[1] = -1;
        break;
    case 'U':
        fd = open(".", O_TMPFILE | O_RDWR, 0600);
        require(fd >= 0 && posix_fallocate(fd, 0, 300 << 20) == 0);
        break;
    case 'c':
        require(pipe(pair) == 0);
        child = fork();
        if (child == 0) {
            require(boot->can_capture(why, sizeof why) != 0 && setsid() > 0);
            close(pair[0]);
            close(pair[1]);
            pause();
        }
        /* Until it has its session. */
        close(pair[1]);
        require(read(pair[0], why, 1) == 0);
        close(pair[0]);
        break;
    case 'd':
        memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        /* By the bare system call. */
        require(syscall(SYS_madvise, memory, 4096, MADV_DONTFORK) == 0);
        break;
    case 'w':
        memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(syscall(SYS_madvise, memory, 4096, MADV_WIPEONFORK) == 0);
        break;
    case 'm':
        fd = memfd_create("x", 0);
        require(ftruncate(fd, 8192) == 0);
        memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        fd = -1;
        break;
    case 'x':
        fd = open("code", O_CREAT | O_RDWR, 0600);
        require(fd >= 0 && ftruncate(fd, 8192) == 0 && unlink("code") == 0);
        memory = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        require(memory != MAP_FAILED);
        close(fd);
        fd = -1;
        break;
    case 'q': case 'Q':
        sprintf(name, "/ftmpi-refused-%d-%c", getpid(), argv[1][0]);
        struct mq_attr few = { .mq_maxmsg = 2, .mq_msgsize = 16 };
        fd = mq_open(name, O_CREAT | O_RDWR, 0600, &few);
        require(fd >= 0);
        if (argv[1][0] == 'Q')
            require(mq_unlink(name) == 0);
        break;
    case 'S': {
        struct sembuf up = { 0, 1, SEM_UNDO };
        set = semget(IPC_PRIVATE, 1, 0600);
        require(set >= 0 && semop(set, &up, 1) == 0);
        break;
    }
    case 'L': {
        struct { long kind; char text[8]; } message = { 1, "text" };
        queue = msgget(IPC_PRIVATE, 0600);
        require(queue >= 0);
        pid_t other = fork();
        if (other == 0)
            _exit(msgsnd(queue, &message, 4, 0));
        require(waitpid(other, 0, 0) == other && msgsnd(queue, &message, 4, IPC_NOWAIT) == 0);
        require(msgrcv(queue, &message, 4, 0, 0) == 4);
        other = fork();
        if (other == 0)
            _exit(msgsnd(queue, &message, 4, 0));
        require(waitpid(other, 0, 0) == other);
        break;
    }
    case 'Y':
        set = shmget(IPC_PRIVATE, 8192, 0600);
        require(set >= 0 && (memory = shmat(set, 0, 0)) != MAP_FAILED && shmctl(set, IPC_RMID, 0) == 0);
        set = -1;
        /* A process that is no child of this one inherits the memory. */
        pid_t parent = fork();
        if (parent == 0) {
            if (fork() == 0) {
                syscall(SYS_close_range, 0, ~0u, 0);
                alarm(20);
                pause();
            }
            _exit(0);
        }
        require(waitpid(parent, 0, 0) == parent);
        break;
    case 'O':
        fd = open("owned", O_CREAT | O_RDWR, 0600);
        require(fd >= 0 && fcntl(fd, F_SETOWN, getppid()) == 0);
        break;
    case 'h': fd = memfd_create("huge", MFD_HUGETLB); break;
    case 'n':
        fd = inotify_init();
        require(close(open("watched", O_CREAT | O_RDWR, 0600)) == 0);
        require(inotify_add_watch(fd, "watched", IN_MODIFY) >= 0 && rename("watched", "moved") == 0);
        break;
    case 'I':
        fd = inotify_init();
        require(close(open("modified", O_CREAT | O_RDWR, 0600)) == 0);
        require(inotify_add_watch(fd, "modified", IN_OPEN) >= 0 && close(open("modified", O_RDONLY)) == 0);
        break;
    case 'g': fd = syscall(SYS_pidfd_open, getppid(), 0); break;
    case 'G': fd = syscall(SYS_userfaultfd, 1); break;
    case 'k':
        memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        key = syscall(SYS_pkey_alloc, 0, 0);
        /* On a processor without keys: something else that an image cannot contain. */
        if (key < 0)
            require(syscall(SYS_madvise, memory, 4096, MADV_WIPEONFORK) == 0);
        else
            require(syscall(SYS_pkey_mprotect, memory, 4096, PROT_READ, key) == 0);
        break;
    case 'l':
        /* Sealed, or (before Linux 6.10) something else that an image cannot contain. */
        memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (syscall(462, memory, 4096, 0) != 0)
            require(syscall(SYS_madvise, memory, 4096, MADV_WIPEONFORK) == 0);
        break;
    case 'A': {
        char *first = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        require(first != MAP_FAILED && (memory = mremap(first, 0, 8192, MREMAP_MAYMOVE)) != MAP_FAILED);
        break;
    }
    case 'B':
        memory = mmap((void *)0x562100000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        require(memory == (void *)0x562100000000);
        break;
    case 'M': {
        char *deep = alloca(1 << 20);
        deep = (char *)(((uintptr_t)deep + 65536) & ~4095ul);
        require(mprotect(deep, 4096, PROT_READ) == 0);
        break;
    }
    case 'N': require(unshare(CLONE_NEWUTS) == 0); break;
    case 'z': {
        /* As root. */
        struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; }
            how = { .size = 48, .policy = 6, .runtime = 1000000, .deadline = 100000000, .period = 100000000 };
        require(syscall(SYS_sched_setattr, 0, &how, 0) == 0);
        break;
    }
    case 'P': fd = open(".", O_PATH); break;
    case '7':
        /* Among the library's descriptors: one of the library has a higher number. */
        own_fd = fcntl(0, F_DUPFD, 1600);
        fd = fcntl(0, F_DUPFD, 1500);
        require(own_fd == 1600 && fd == 1500);
        break;
    case '8':
        while ((fd = open("/dev/null", O_RDONLY)) < 1003)
            require(fd >= 0);
        break;
    case '9':
        own_fd = fcntl(0, F_DUPFD, 1600);
        require(own_fd == 1600);
        break;
    case 'D': case 'W':
        require(mkdir(argv[1], 0700) == 0 && (fd = open(argv[1], O_RDONLY | O_DIRECTORY)) >= 0);
        if (argv[1][0] == 'W') {
            back = open(".", O_RDONLY);
            require(back >= 0 && fchdir(fd) == 0);
            close(fd);
            fd = -1;
            require(rmdir("../W") == 0);
        } else {
            require(rmdir("D") == 0);
        }
        break;
    case 'H':
        fd = open("H1", O_CREAT | O_RDWR, 0600);
        require(fd >= 0 && link("H1", "H2") == 0 && unlink("H1") == 0);
        break;
    case '/': fd = open("/proc/1/status", O_RDONLY); break;
    /* As root; 'f' as any user. */
    case '1': require(seteuid(65534) == 0); break;
    case '2': require(setgroups(1, (gid_t[]){ 100 }) == 0); break;
    case '3': drop(); break;
    case '4': require(pthread_create(&thread, 0, be_another, 0) == 0); break;
    case '5': require(chroot(".") == 0); break;
    case '6': require(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0); break;
    case 'f': filter(); break;
    case 'r': call_it(&thread); break;
    case 'E':
        require(pthread_create(&thread, 0, go_on_alone, 0) == 0);
        pthread_exit(0);
    case 'T': require(clock_getcpuclockid(getpid(), &clock) == 0 && timer_create(clock, &event, &timer) == 0); break;
    }
    while (strchr("t4", argv[1][0]) && !there)
        usleep(1000);
    usleep(20000); /* for 'r': the thread waits for the mutex */
    struct outcome none = { 0 };
    report_to_agent(2, &none);
    int code = boot->can_capture(why, sizeof why);
    printf("%d %s\n", code, why);
    fflush(stdout);
    usleep(1500000); /* the agent asks for an image */
    done = 1;
    if (argv[1][0] == '1')
        require(seteuid(0) == 0);
    if (strchr("2356789fNl", argv[1][0]))
        return 0; /* cannot be undone */
    if (argv[1][0] == 'r')
        require(pthread_mutex_unlock(&robust) == 0);
    if (argv[1][0] == 't' || argv[1][0] == 'r' || argv[1][0] == '4')
        pthread_join(thread, 0);
    if (argv[1][0] == 'T')
        timer_delete(timer);
    if (argv[1][0] == 'z') {
        struct sched_param none = { 0 };
        require(sched_setscheduler(0, SCHED_OTHER, &none) == 0);
    }
    if (argv[1][0] == 'q')
        require(mq_unlink(name) == 0);
    /* After the obstacle is gone, images are possible. */
    if (set >= 0)
        require(semctl(set, 0, IPC_RMID) == 0);
    if (queue >= 0)
        require(msgctl(queue, IPC_RMID, 0) == 0);
    close(pair[0]);
    close(pair[1]);
    close(fd);
    if (back >= 0)
        require(fchdir(back) == 0);
    if (argv[1][0] == 'Y')
        require(shmdt(memory) == 0);
    else if (memory != MAP_FAILED)
        munmap(memory, 8192);
    if (child) {
        kill(child, SIGKILL);
        require(waitpid(-1, 0, 0) == child);
    }
    require(boot->can_capture(why, sizeof why) == 0);
    return 0;
}
