/*
 * Processes that join a running job, ports and names (MPI-4.1, chapter 11). The first argument says
 * what is tested. Children are the same program; their first argument is `child`, the second one
 * what they do. Rank 0 of the first world prints `ok` and the name of the test at the end.
 *
 * Guarantee: a value that is wrong ends the job with code 3 and one line.
 */
#define _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            MPI_Abort(MPI_COMM_WORLD, 3);                                             \
        }                                                                             \
    } while (0)

static char *self;
static int rank, size;

static MPI_Comm spawn(const char *what, int count, MPI_Info info, MPI_Comm comm)
{
    char *arguments[] = {"child", (char *)what, NULL};
    MPI_Comm inter = MPI_COMM_NULL;
    int codes[64];
    memset(codes, 1, sizeof codes);
    MPI_Comm_spawn(self, arguments, count, info, 0, comm, &inter, codes);
    for (int i = 0; i < count; i++)
        MUST(codes[i] == MPI_SUCCESS);
    return inter;
}

/* Both sides of an intercommunicator do this: every operation that such a communicator has. */
static void use(MPI_Comm inter, int parents)
{
    int local, remote, me, flag, sum = 0, value;
    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_rank(inter, &me);
    MUST(flag);
    for (int other = 0; other < remote; other++) {
        int out = 100 * me + other, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, other, 5, &in, 1, MPI_INT, other, 5, inter, MPI_STATUS_IGNORE);
        MUST(in == 100 * other + me);
    }
    value = 7 + me;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    MUST(sum == remote * 7 + remote * (remote - 1) / 2);
    value = parents && me == 0 ? 4711 : 0;
    MPI_Bcast(&value, 1, MPI_INT, parents ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    MUST(value == (parents && me != 0 ? 0 : 4711));
    MPI_Barrier(inter);
    MPI_Comm all, again;
    MPI_Intercomm_merge(inter, !parents, &all);
    int total, place;
    MPI_Comm_size(all, &total);
    MPI_Comm_rank(all, &place);
    MUST(total == local + remote);
    MUST(place == (parents ? me : remote + me));
    value = 1 << (place % 20);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, all);
    sum = 0;
    for (int i = 0; i < total; i++)
        sum += 1 << (i % 20);
    MUST(value == sum);
    MPI_Comm_dup(all, &again);
    /* Longer than any message that goes at once. */
    static char text[1 << 20], got[1 << 20];
    memset(text, 'a' + place % 26, sizeof text);
    int next = (place + 1) % total, before = (place + total - 1) % total;
    MPI_Sendrecv(text, sizeof text, MPI_CHAR, next, 1, got, sizeof got, MPI_CHAR, before, 1, again,
                 MPI_STATUS_IGNORE);
    MUST(got[0] == 'a' + before % 26 && got[sizeof got - 1] == got[0]);
    MPI_Comm_free(&again);
    MPI_Comm_disconnect(&all);
    MUST(all == MPI_COMM_NULL);
}

static void must_fail(const char *program, int class_wanted)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int codes[2], class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    MPI_Error_class(code, &class);
    MUST(class == class_wanted && inter == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void child(int argc, char **argv)
{
    MPI_Comm parent, below;
    const char *what = argc > 2 ? argv[2] : "";
    MPI_Comm_get_parent(&parent);
    MUST(parent != MPI_COMM_NULL);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(parent, name, &length);
    MUST(strcmp(name, "MPI_COMM_PARENT") == 0);
    if (strcmp(what, "die") == 0 && rank == 0)
        raise(SIGKILL);
    if (strcmp(what, "abort") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(what, "replace") == 0) {
        MPI_Comm whole;
        int one = 1, sum = 0;
        MPI_Intercomm_merge(parent, 1, &whole);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, whole);
        MPI_Comm_free(&whole);
    }
    if (strcmp(what, "quick") == 0 && rank == 1) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE);
        value++;
        MPI_Send(&value, 1, MPI_INT, 0, 3, parent);
    }
    if (strcmp(what, "where") == 0) {
        char place[1024];
        MUST(getcwd(place, sizeof place) != NULL);
        const char *variable = getenv("NEW_PROCESSES_TEST");
        MUST(variable != NULL && strcmp(variable, "a=b") == 0);
        MPI_Send(place, (int)strlen(place) + 1, MPI_CHAR, 0, 1, parent);
    }
    if (strcmp(what, "below") == 0) {
        below = spawn("use", 2, MPI_INFO_NULL, MPI_COMM_WORLD);
        use(below, 1);
        MPI_Comm_disconnect(&below);
    }
    if (strcmp(what, "number") == 0) {
        int *number, flag;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
        MUST(flag && argc == 4 && *number == atoi(argv[3]));
    }
    if (strcmp(what, "die") == 0 || strcmp(what, "abort") == 0)
        pause();
    if (strcmp(what, "where") != 0 && strcmp(what, "replace") != 0 && strcmp(what, "quick") != 0)
        use(parent, 0);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&parent);
    MUST(parent == MPI_COMM_NULL);
}

static void test_info(void)
{
    MPI_Info info;
    MPI_Comm inter;
    char place[1024], file[4096], folder[4096];
    int codes[4], remote;
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "env", "NEW_PROCESSES_TEST=a=b");
    inter = spawn("where", 1, info, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(place, sizeof place, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
        MUST(strcmp(place, "/") == 0);
    }
    MPI_Comm_disconnect(&inter);
    MPI_Info_free(&info);
    /* The folder of this program, and its name alone. */
    snprintf(folder, sizeof folder, "%s", self);
    char *slash = strrchr(folder, '/');
    MUST(slash != NULL);
    *slash = 0;
    snprintf(file, sizeof file, "%s", slash + 1);
    char *arguments[] = {"child", "use", NULL};
    MPI_Info_create(&info);
    MPI_Info_set(info, "path", folder);
    MPI_Info_set(info, "soft", "1:2,7");
    MPI_Comm_spawn(file, arguments, 4, info, 0, MPI_COMM_WORLD, &inter, codes);
    MPI_Comm_remote_size(inter, &remote);
    MUST(remote == 2 && codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    MUST(codes[2] == MPI_ERR_SPAWN && codes[3] == MPI_ERR_SPAWN);
    use(inter, 1);
    MPI_Comm_disconnect(&inter);
    MPI_Info_set(info, "host", "no-such-host");
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_spawn(file, arguments, 4, info, 0, MPI_COMM_WORLD, &inter, codes);
    MPI_Error_class(code, &class);
    MUST(class == MPI_ERR_SPAWN);
    MPI_Info_free(&info);
}

static void test_multiple(void)
{
    char *first[] = {"child", "number", "0", NULL}, *second[] = {"child", "number", "1", NULL};
    char *commands[] = {self, self}, **arguments[] = {first, second};
    int counts[] = {1, 2}, codes[] = {9, 9, 9}, remote;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, size - 1, MPI_COMM_WORLD, &inter, codes);
    MUST(codes[0] == 0 && codes[1] == 0 && codes[2] == 0);
    MPI_Comm_remote_size(inter, &remote);
    MUST(remote == 3);
    use(inter, 1);
    MPI_Comm_disconnect(&inter);
}

static void test_port(void)
{
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    MPI_Comm half, inter;
    int server = rank < (size + 1) / 2, class;
    MPI_Comm_split(MPI_COMM_WORLD, server, rank, &half);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("new processes", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < 3; turn++) {
        if (server) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
        } else {
            int me;
            MPI_Comm_rank(half, &me);
            if (me == 0) {
                MPI_Lookup_name("new processes", MPI_INFO_NULL, found);
            }
            MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter);
        }
        use(inter, server);
        MPI_Comm_disconnect(&inter);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MUST(MPI_Unpublish_name("new processes", MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Error_class(MPI_Unpublish_name("new processes", MPI_INFO_NULL, port), &class);
        MUST(class == MPI_ERR_SERVICE);
        MPI_Close_port(port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Error_class(MPI_Lookup_name("new processes", MPI_INFO_NULL, found), &class);
    MUST(class == MPI_ERR_NAME);
    MPI_Error_class(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, half, &inter), &class);
    MUST(class == MPI_ERR_PORT);
    MPI_Comm_free(&half);
}

/* Under `--recovery ignore`: a rank dies, the others spawn one in its place and go on with it. */
static void test_replace(void)
{
    MPI_Comm left, inter, whole;
    int total, sum = 0, code, one = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        raise(SIGKILL);
    do
        code = MPI_Barrier(MPI_COMM_WORLD);
    while (code == MPI_SUCCESS);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MUST(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    MPI_Comm_size(left, &total);
    MUST(total == size - 1);
    inter = spawn("replace", 1, MPI_INFO_NULL, left);
    MPI_Intercomm_merge(inter, 0, &whole);
    MPI_Comm_size(whole, &total);
    MUST(total == size);
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, whole) == MPI_SUCCESS && sum == size);
    if (rank == 0)
        printf("ok replace\n");
    MPI_Comm_free(&whole);
    MPI_Comm_disconnect(&inter);
}

/* Threads of one process spawn at the same time, on communicators of their own. */
static void *spawns(void *comm)
{
    for (int turn = 0; turn < 2; turn++) {
        MPI_Comm inter = spawn("use", 1, MPI_INFO_NULL, *(MPI_Comm *)comm);
        use(inter, 1);
        MPI_Comm_disconnect(&inter);
    }
    return NULL;
}

static void test_threads(void)
{
    MPI_Comm comms[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, spawns, &comms[i]) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]);
}

static int descriptors(void)
{
    int open = 0;
    for (int descriptor = 0; descriptor < 4096; descriptor++)
        open += fcntl(descriptor, F_GETFD) != -1;
    return open;
}

/* A manager that spawns again and again keeps nothing of the workers that have ended. */
static void test_many(void)
{
    int before = 0;
    for (int turn = 0; turn < 12; turn++) {
        MPI_Comm inter = spawn("quick", 2, MPI_INFO_NULL, MPI_COMM_SELF);
        int value = turn, got = 0;
        MPI_Send(&value, 1, MPI_INT, 1, 3, inter);
        MPI_Recv(&got, 1, MPI_INT, 1, 3, inter, MPI_STATUS_IGNORE);
        MUST(got == turn + 1);
        MPI_Comm_disconnect(&inter);
        if (turn == 3)
            before = descriptors();
    }
    /* (News of the end of a world comes a little later.) */
    int turns = 0, flag;
    do {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(10000);
    } while (descriptors() > before && turns++ < 300);
    MUST(descriptors() <= before);
}

/* `busy`: the other end comes only when it has received a long message. */
static void test_join(int busy)
{
    const int count = 16 << 20;
    char *text = calloc(1, count);
    MPI_Request sent = MPI_REQUEST_NULL;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), end = -1;
    MPI_Comm inter = MPI_COMM_NULL;
    if (rank == 0) {
        MUST(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
        MUST(listen(listener, 1) == 0);
        getsockname(listener, (struct sockaddr *)&address, &length);
    }
    MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        end = accept(listener, NULL, NULL);
    if (rank == 1) {
        end = listener;
        MUST(connect(end, (struct sockaddr *)&address, sizeof address) == 0);
    }
    if (busy && rank == 0)
        MPI_Isend(text, count, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &sent);
    if (busy && rank == 1)
        MPI_Recv(text, count, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < 2) {
        MPI_Comm_join(end, &inter);
        MUST(inter != MPI_COMM_NULL);
        use(inter, rank == 0);
        MPI_Comm_disconnect(&inter);
        /* The socket is the program's again. */
        char byte = 'x';
        MUST(write(end, &byte, 1) == 1 && read(end, &byte, 1) == 1);
        close(end);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    free(text);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* With a path, wherever the program was found. */
    self = realpath("/proc/self/exe", NULL);
    MUST(self != NULL);
    const char *test = argc > 1 ? argv[1] : "";
    MPI_Comm inter;
    if (strcmp(test, "child") == 0) {
        child(argc, argv);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_get_parent(&inter);
    MUST(inter == MPI_COMM_NULL);
    if (strcmp(test, "spawn") == 0) {
        inter = spawn("use", 3, MPI_INFO_NULL, MPI_COMM_WORLD);
        use(inter, 1);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(test, "again") == 0) {
        for (int turn = 0; turn < 4; turn++) {
            inter = spawn("use", 1 + turn % 2, MPI_INFO_NULL, MPI_COMM_SELF);
            use(inter, 1);
            MPI_Comm_disconnect(&inter);
        }
    } else if (strcmp(test, "below") == 0) {
        inter = spawn("below", 2, MPI_INFO_NULL, MPI_COMM_WORLD);
        use(inter, 1);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(test, "joined-end") == 0) {
        /* No disconnect: all end together. */
        inter = spawn("use", 2, MPI_INFO_NULL, MPI_COMM_WORLD);
        use(inter, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&inter);
    } else if (strcmp(test, "missing") == 0) {
        must_fail("./no-such-program", MPI_ERR_SPAWN);
        must_fail("/bin/true", MPI_ERR_SPAWN);
        inter = spawn("use", 2, MPI_INFO_NULL, MPI_COMM_WORLD);
        use(inter, 1);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(test, "multiple") == 0) {
        test_multiple();
    } else if (strcmp(test, "info") == 0) {
        test_info();
    } else if (strcmp(test, "port") == 0) {
        test_port();
    } else if (strcmp(test, "join") == 0 || strcmp(test, "join-busy") == 0) {
        test_join(strcmp(test, "join-busy") == 0);
    } else if (strcmp(test, "threads") == 0) {
        test_threads();
    } else if (strcmp(test, "many") == 0) {
        test_many();
    } else if (strcmp(test, "replace") == 0) {
        test_replace();
        MPI_Finalize();
        return 0;
    } else if (strcmp(test, "die") == 0 || strcmp(test, "abort") == 0) {
        inter = spawn(test, 2, MPI_INFO_NULL, MPI_COMM_WORLD);
        pause();
    } else {
        MUST(!"a known test");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ok %s\n", test);
    MPI_Finalize();
    return 0;
}
