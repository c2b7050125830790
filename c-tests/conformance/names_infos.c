/* Chapters 7 to 11: info objects, hints of communicators, graphs, error classes that are removed
 * again, names of MPI-1 for attributes and handlers, calls about other jobs. */
#include "../check.h"

static int class_of(int code)
{
    int class = 0;
    MPI_Error_class(code, &class);
    return class;
}

static void infos(int argc, char **argv)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY + 1], value[64];
    int n = -1, flag = -1, length = -1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "first", "1");
    MPI_Info_set(info, "second", "two");
    MPI_Info_set(info, "third", "three");
    /* A value may be empty. */
    MPI_Info_set(info, "nothing", "");
    MPI_Info_get(info, "nothing", 63, value, &flag);
    EQUAL(flag, 1);
    EQUAL(strlen(value), 0);
    MPI_Info_delete(info, "nothing");
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "second");
    MPI_Info_get_nkeys(info, &n);
    EQUAL(n, 2);
    MPI_Info_get_nkeys(copy, &n);
    EQUAL(n, 3);
    MPI_Info_get_nthkey(info, 1, key);
    EQUAL(strcmp(key, "third"), 0);
    MPI_Info_get_valuelen(info, "third", &length, &flag);
    EQUAL(flag, 1);
    EQUAL(length, 5);
    MPI_Info_get_valuelen(info, "second", &length, &flag);
    EQUAL(flag, 0);
    int room = sizeof value;
    MPI_Info_get_string(copy, "second", &room, value, &flag);
    EQUAL(flag, 1);
    EQUAL(room, 4);
    EQUAL(strcmp(value, "two"), 0);
    room = 3;
    MPI_Info_get_string(copy, "third", &room, value, &flag);
    EQUAL(room, 6);
    EQUAL(strcmp(value, "th"), 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EQUAL(class_of(MPI_Info_delete(info, "second")), MPI_ERR_INFO_NOKEY);
    CHECK(MPI_Info_get_nthkey(info, 2, key) != MPI_SUCCESS, "a key that is not there");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    EQUAL(MPI_Info_create_env(argc, argv, &info), MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL, "no environment");
    MPI_Info_free(&info);
    section("infos");
}

static void hints(void)
{
    MPI_Comm comm, other, node;
    MPI_Info info, got;
    MPI_Request q;
    char value[20] = "";
    int flag = -1, size = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(check_comm, info, &comm);
    MPI_Comm_get_info(comm, &got);
    MPI_Info_get(got, "mpi_assert_no_any_tag", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "true"), "the hint is '%s'", value);
    MPI_Info_free(&got);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(comm, info);
    MPI_Comm_get_info(comm, &got);
    MPI_Info_get(got, "mpi_assert_no_any_tag", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "false"), "the new hint is '%s'", value);
    MPI_Info_free(&got);
    MPI_Comm_idup_with_info(comm, info, &other, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Comm_compare(comm, other, &flag);
    EQUAL(flag, MPI_CONGRUENT);
    MPI_Info_free(&info);
    MPI_Comm_split_type(other, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    EQUAL(size, check_size);
    MPI_Comm_free(&node);
    MPI_Comm_split_type(other, MPI_UNDEFINED, 0, MPI_INFO_NULL, &node);
    CHECK(node == MPI_COMM_NULL, "a part of nothing");
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    section("hints");
}

/* Each rank names edges that begin at another rank. */
static void graphs(void)
{
    MPI_Comm comm;
    int n = check_size, source = (check_rank + 1) % n, degree = 2, weighted = -1, in = -1, out = -1;
    int targets[2] = {(source + 1) % n, (source + 2) % n}, weights[2] = {source + 1, source + 2};
    MPI_Dist_graph_create(check_comm, 1, &source, &degree, targets, weights, MPI_INFO_NULL, 0, &comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    EQUAL(in, 2);
    EQUAL(out, 2);
    EQUAL(weighted, 1);
    int sources[2], heavy[2], goals[2], light[2];
    MPI_Dist_graph_neighbors(comm, 2, sources, heavy, 2, goals, light);
    EQUAL(light[0] + light[1], 2 * check_rank + 3);
    for (int i = 0; i < 2; i++) {
        int step = (goals[i] - check_rank + n) % n;
        CHECK(step == 1 % n || step == 2 % n, "goal %d", goals[i]);
        step = (check_rank - sources[i] + n) % n;
        CHECK(step == 1 % n || step == 2 % n, "source %d", sources[i]);
        CHECK(n < 3 || heavy[i] == sources[i] + step, "weight %d of %d", heavy[i], sources[i]);
    }
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(check_comm, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    EQUAL(in + out, 0);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(check_comm, 1, &source, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    EQUAL(weighted, 0);
    MPI_Comm_free(&comm);
    section("graphs");
}

/* Bytes of any encoding are returned unchanged. */
static void encodings(void)
{
    static const char latin[] = "M\xfcller & S\xf6hne", utf8[] = "M\xc3\xbcller";
    char got[MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Info info;
    int length = 0, flag = 0, class = 0, code = 0;
    for (int i = 0; i < 2; i++) {
        const char *text = i ? utf8 : latin;
        MPI_Comm_dup(check_comm, &comm);
        MPI_Comm_set_name(comm, text);
        MPI_Comm_get_name(comm, got, &length);
        CHECK(!strcmp(got, text) && length == (int)strlen(text), "name %d of a communicator is '%s'", i, got);
        MPI_Comm_free(&comm);
        MPI_Type_dup(MPI_INT, &type);
        MPI_Type_set_name(type, text);
        MPI_Type_get_name(type, got, &length);
        CHECK(!strcmp(got, text) && length == (int)strlen(text), "name %d of a datatype is '%s'", i, got);
        MPI_Type_free(&type);
        MPI_Info_create(&info);
        MPI_Info_set(info, text, text);
        MPI_Info_get_nthkey(info, 0, got);
        CHECK(!strcmp(got, text), "key %d is '%s'", i, got);
        MPI_Info_get(info, text, sizeof got - 1, got, &flag);
        CHECK(flag && !strcmp(got, text), "value %d is '%s'", i, got);
        MPI_Info_get_valuelen(info, text, &length, &flag);
        EQUAL(length, strlen(text));
        MPI_Info_free(&info);
        /* MPICH has a text of its own for a code of a predefined class. */
        MPI_Add_error_class(&class);
        MPI_Add_error_code(class, &code);
        MPI_Add_error_string(code, text);
        char error[MPI_MAX_ERROR_STRING];
        MPI_Error_string(code, error, &length);
        CHECK(!strcmp(error, text), "text %d of an error is '%s'", i, error);
    }
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = class_of(*code);
}

static void first_names(void)
{
    MPI_Comm comm;
    MPI_Errhandler ours, got;
    int key = MPI_KEYVAL_INVALID, value = 5, flag = -1, *found = NULL;
    MPI_Comm_dup(check_comm, &comm);
    MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL);
    MPI_Attr_put(comm, key, &value);
    MPI_Attr_get(comm, key, &found, &flag);
    EQUAL(flag, 1);
    EQUAL(*found, 5);
    MPI_Attr_delete(comm, key);
    MPI_Attr_get(comm, key, &found, &flag);
    EQUAL(flag, 0);
    MPI_Keyval_free(&key);
    MPI_Errhandler_create(handler, &ours);
    MPI_Errhandler_set(comm, ours);
    MPI_Errhandler_get(comm, &got);
    CHECK(got == ours, "another handler came back");
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&ours);
    MPI_Send(&value, -1, MPI_INT, 0, 0, comm);
    EQUAL(handled, MPI_ERR_COUNT);
    MPI_Comm_free(&comm);
    section("first names");
}

/* Classes, codes and texts that are removed again (MPI-4.1). */
static void removal(void)
{
#ifdef FTMPI_VERSION
    int class = 0, code = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of cheese");
    MPI_Error_string(code, text, &length);
    EQUAL(strcmp(text, "out of cheese"), 0);
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS, "a class that has a code was removed");
    CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS, "a code that has a text was removed");
    EQUAL(MPI_Remove_error_string(code), MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    EQUAL(length, 0);
    EQUAL(MPI_Remove_error_code(code), MPI_SUCCESS);
    EQUAL(MPI_Remove_error_class(class), MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS, "removed twice");
    CHECK(MPI_Remove_error_code(MPI_ERR_OTHER) != MPI_SUCCESS, "a predefined one was removed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
}

#ifdef FTMPI_VERSION
/* A call that is not supported, or cannot succeed, names itself in an error. */
static void refused(const char *name, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    CHECK(code != MPI_SUCCESS, "%s pretends to work", name);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, name) != NULL, "the text of %s is '%s'", name, text);
}
#endif

static void other_jobs(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    EQUAL(MPI_Comm_get_parent(&comm), MPI_SUCCESS);
    CHECK(comm == MPI_COMM_NULL, "a parent");
    MPI_Comm_dup(check_comm, &comm);
    EQUAL(MPI_Comm_disconnect(&comm), MPI_SUCCESS);
    CHECK(comm == MPI_COMM_NULL, "a disconnected communicator is not null");
#ifdef FTMPI_VERSION
    char port[MPI_MAX_PORT_NAME] = "nowhere", *command = (char *)"true", **none = NULL;
    int one = 1, codes[2];
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* Ports are a matter of jobs whose protocol keeps nothing. */
    if (MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS)
        EQUAL(MPI_Close_port(port), MPI_SUCCESS);
    refused("MPI_Close_port", MPI_Close_port(port));
    char service[32];
    snprintf(service, sizeof service, "service %d", check_rank);
    if (MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS)
        EQUAL(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
    int code = MPI_Lookup_name("service", MPI_INFO_NULL, port);
    refused("MPI_Lookup_name", code);
    EQUAL(class_of(code), MPI_ERR_NAME);
    refused("MPI_Unpublish_name", MPI_Unpublish_name("service", MPI_INFO_NULL, port));
    refused("MPI_Comm_accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm));
    refused("MPI_Comm_connect", MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm));
    refused("MPI_Comm_join", MPI_Comm_join(0, &comm));
    refused("MPI_Comm_spawn",
            MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm, codes));
    refused("MPI_Comm_spawn_multiple", MPI_Comm_spawn_multiple(1, &command, &none, &one, &info, 0, MPI_COMM_SELF,
                                                               &comm, codes));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
    section("other jobs");
}

/* Cases of mpi4py's own tests: names of null handles, splitting by a named resource, the empty
 * status, arguments of a constructor that fit no int, an empty accumulate. */
static void found_by_others(void)
{
#ifdef FTMPI_VERSION
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0, size = 0, index = 0, flag = 0, combiner = 0;
    MPI_Comm node;
    MPI_Info info;
    MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
    CHECK(!strcmp(name, "MPI_COMM_NULL") && length == 13, "the name of no communicator: %s", name);
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length);
    CHECK(!strcmp(name, "MPI_DATATYPE_NULL") && length == 17, "the name of no datatype: %s", name);
    MPI_Win_get_name(MPI_WIN_NULL, name, &length);
    CHECK(!strcmp(name, "MPI_WIN_NULL") && length == 12, "the name of no window: %s", name);

    MPI_Info_create(&info);
    MPI_Comm_split_type(check_comm, MPI_COMM_TYPE_HW_GUIDED, 0, info, &node);
    CHECK(node == MPI_COMM_NULL, "split by hardware without a name");
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    for (int type = MPI_COMM_TYPE_HW_GUIDED; type <= MPI_COMM_TYPE_RESOURCE_GUIDED; type += 2) {
        MPI_Comm_split_type(check_comm, type, 0, info, &node);
        CHECK(node != MPI_COMM_NULL, "not split by shared memory");
        MPI_Comm_size(node, &size);
        EQUAL(size, check_size);
        MPI_Comm_free(&node);
    }
    MPI_Info_free(&info);

    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status = {.MPI_ERROR = 77};
    MPI_Request_get_status_any(2, none, &index, &flag, &status);
    EQUAL(index, MPI_UNDEFINED);
    EQUAL(flag, 1);
    EQUAL(status.MPI_ERROR, MPI_SUCCESS);
    EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);

    MPI_Count big = (MPI_Count)3 << 30, ints, places, counts, types, large[3] = {0};
    MPI_Datatype type, inner;
    int small[4];
    MPI_Aint addresses[4];
    MPI_Type_vector_c(2, big, big + 1, MPI_BYTE, &type);
    int i0, i1, i2, class = -1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Type_get_envelope(type, &i0, &i1, &i2, &combiner), &class);
    EQUAL(class, MPI_ERR_VALUE_TOO_LARGE);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner);
    EQUAL(ints, 0);
    EQUAL(places, 0);
    EQUAL(counts, 3);
    EQUAL(types, 1);
    EQUAL(combiner, MPI_COMBINER_VECTOR);
    MPI_Type_get_contents_c(type, ints, places, counts, types, small, addresses, large, &inner);
    CHECK(large[0] == 2 && large[1] == big && large[2] == big + 1 && inner == MPI_BYTE, "contents");
    MPI_Type_free(&type);
    MPI_Count sizes[2] = {big, 4}, subsizes[2] = {big - 1, 3}, starts[2] = {1, 0};
    MPI_Count six[6];
    MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_BYTE, &type);
    MPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner);
    EQUAL(ints, 2);
    EQUAL(counts, 6);
    MPI_Type_get_contents_c(type, ints, places, counts, types, small, addresses, six, &inner);
    CHECK(small[0] == 2 && small[1] == MPI_ORDER_FORTRAN, "dimensions and order");
    CHECK(six[0] == big && six[1] == 4 && six[2] == big - 1 && six[3] == 3 && six[4] == 1 && six[5] == 0, "sizes");
    MPI_Type_free(&type);

    /* Small numbers are reported as the call took them. */
    MPI_Count lengths[2] = {1, 2}, gaps[2] = {0, 8}, five[5];
    MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE}, inners[2];
    MPI_Type_create_struct_c(2, lengths, gaps, members, &type);
    MPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner);
    EQUAL(ints, 0);
    EQUAL(places, 0);
    EQUAL(counts, 5);
    EQUAL(types, 2);
    EQUAL(combiner, MPI_COMBINER_STRUCT);
    MPI_Type_get_contents_c(type, ints, places, counts, types, small, addresses, five, inners);
    CHECK(five[0] == 2 && five[1] == 1 && five[2] == 2 && five[3] == 0 && five[4] == 8, "counts of a structure");
    MPI_Type_free(&type);
    MPI_Type_create_resized_c(MPI_INT, -4, 16, &type);
    MPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner);
    EQUAL(ints + places, 0);
    EQUAL(counts, 2);
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, -4, 16, &type);
    MPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner);
    EQUAL(places, 2);
    EQUAL(counts, 0);
    MPI_Type_free(&type);

    MPI_Win win;
    MPI_Win_create(name, sizeof name, 1, MPI_INFO_NULL, check_comm, &win);
    MPI_Win_fence(0, win);
    EQUAL(MPI_Get_accumulate(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
#endif
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "names_infos");
    infos(argc, argv);
    hints();
    graphs();
    encodings();
    first_names();
    removal();
    other_jobs();
    found_by_others();
    return check_end();
}
