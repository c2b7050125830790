/* Chapter 5: names of MPI-1 that binaries still call, types by precision and size, and forms
 * with `MPI_Count` that other programs of this folder do not use. */
#include "../check.h"
#include <stddef.h>


static void removed_names(void)
{
    struct two {
        int a;
        double b[2];
    } value[2] = {{0}}, copy[2];
    MPI_Aint at = 0, base = 0, places[2], extent = 0, lb = -1, ub = -1;
    MPI_Datatype type, members[2] = {MPI_INT, MPI_DOUBLE};
    int lengths[2] = {1, 2};
    MPI_Address(&value[0], &base);
    MPI_Address(&value[0].b, &at);
    places[0] = 0;
    places[1] = MPI_Aint_diff(at, base);
    EQUAL(places[1], offsetof(struct two, b));
    CHECK(MPI_Aint_add(base, places[1]) == at, "sum of addresses");
    MPI_Type_struct(2, lengths, places, members, &type);
    MPI_Type_commit(&type);
    MPI_Type_extent(type, &extent);
    EQUAL(extent, sizeof(struct two));
    MPI_Type_lb(type, &lb);
    MPI_Type_ub(type, &ub);
    EQUAL(lb, 0);
    EQUAL(ub, sizeof(struct two));
    value[1].a = 7 + check_rank;
    value[1].b[1] = 0.5;
    memset(copy, 0, sizeof copy);
    MPI_Sendrecv(value, 2, type, check_rank, 0, copy, 2, type, check_rank, 0, check_comm, MPI_STATUS_IGNORE);
    EQUAL(copy[1].a, 7 + check_rank);
    CHECK(copy[1].b[1] == 0.5, "the second double");
    MPI_Type_free(&type);

    int numbers[12], picked[4] = {0}, hlengths[2] = {1, 2}, position = 0;
    MPI_Aint hplaces[2] = {4, 20};
    for (int i = 0; i < 12; i++)
        numbers[i] = i;
    MPI_Type_hvector(3, 1, 16, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack(numbers, 1, type, picked, sizeof picked, &position, check_comm);
    EQUAL(position, 12);
    EQUAL(picked[2], 8);
    MPI_Type_free(&type);
    MPI_Type_hindexed(2, hlengths, hplaces, MPI_INT, &type);
    MPI_Type_commit(&type);
    position = 0;
    MPI_Pack(numbers, 1, type, picked, sizeof picked, &position, check_comm);
    EQUAL(picked[0], 1);
    EQUAL(picked[2], 6);
    MPI_Type_free(&type);
    note_bytes(picked, 12);
    section("removed names");
}

/* The types of `MPI_Type_match_size` and of the constructors by precision have at least the
 * requested size. */
static void by_size(void)
{
    MPI_Datatype type;
    int size = 0, sizes[] = {4, 8}, integers[] = {1, 2, 4, 8};
    for (int i = 0; i < 2; i++) {
        MPI_Type_match_size(MPI_TYPECLASS_REAL, sizes[i], &type);
        MPI_Type_size(type, &size);
        EQUAL(size, sizes[i]);
        MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 2 * sizes[i], &type);
        MPI_Type_size(type, &size);
        EQUAL(size, 2 * sizes[i]);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Type_match_size(MPI_TYPECLASS_INTEGER, integers[i], &type);
        MPI_Type_size(type, &size);
        EQUAL(size, integers[i]);
    }
    int digits[] = {2, 4, 9, 18}, combiner, ints, addresses, types, values[3];
    for (int i = 0; i < 4; i++) {
        EQUAL(MPI_Type_create_f90_integer(digits[i], &type), MPI_SUCCESS);
        MPI_Type_size(type, &size);
        EQUAL(size, integers[i]);
        MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
        EQUAL(combiner, MPI_COMBINER_F90_INTEGER);
        EQUAL(ints, 1);
        MPI_Type_get_contents(type, 1, 0, 0, values, NULL, NULL);
        EQUAL(values[0], digits[i]);
    }
    EQUAL(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type), MPI_SUCCESS);
    MPI_Type_size(type, &size);
    EQUAL(size, 4);
    MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
    EQUAL(combiner, MPI_COMBINER_F90_REAL);
    EQUAL(MPI_Type_create_f90_real(15, 300, &type), MPI_SUCCESS);
    MPI_Type_size(type, &size);
    EQUAL(size, 8);
    EQUAL(MPI_Type_create_f90_complex(15, 300, &type), MPI_SUCCESS);
    MPI_Type_size(type, &size);
    EQUAL(size, 16);
    /* These types can be used without a commit. */
    double out[2] = {1.5, check_rank}, in[2] = {0};
    MPI_Sendrecv(out, 1, type, check_rank, 0, in, 1, type, check_rank, 0, check_comm, MPI_STATUS_IGNORE);
    CHECK(in[0] == 1.5 && in[1] == check_rank, "a complex number");
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_create_f90_real(400, 5, &type) != MPI_SUCCESS, "400 digits");
    /* Each call returns the same type, which cannot be freed. */
    MPI_Datatype first, again, two;
    MPI_Type_create_f90_real(6, 30, &first);
    MPI_Type_create_f90_real(6, 30, &again);
    CHECK(first == again, "one type for one precision and range");
    MPI_Type_contiguous(2, first, &two);
    MPI_Aint address;
    MPI_Type_get_contents(two, 1, 0, 1, values, &address, &again);
    CHECK(first == again, "the type in another's contents");
    MPI_Type_free(&two);
#ifdef FTMPI_VERSION
    /* Erroneous, but some programs do so. */
    EQUAL(MPI_Type_free(&again), MPI_SUCCESS);
    EQUAL(again, MPI_DATATYPE_NULL);
    MPI_Type_create_f90_real(6, 30, &again);
    CHECK(first == again, "still the same");
#endif
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_ARE_FATAL);
#ifdef FTMPI_VERSION
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    EQUAL(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair), MPI_SUCCESS);
    CHECK(pair == MPI_DOUBLE_INT, "the type of a double with its place");
    EQUAL(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair), MPI_SUCCESS);
    CHECK(pair == MPI_2INT, "the type of an int with its place");
#endif
    section("by size");
}

static void large(void)
{
    MPI_Datatype type;
    MPI_Count lb = -1, extent = -1, size = -1;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int n = 0;
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_name(type, "three pairs");
    MPI_Type_get_name(type, name, &n);
    EQUAL(strcmp(name, "three pairs"), 0);
    EQUAL(n, 11);
    MPI_Type_get_extent_x(type, &lb, &extent);
    EQUAL(lb, 0);
    EQUAL(extent, 40);
    MPI_Type_get_true_extent_x(type, &lb, &extent);
    EQUAL(extent, 40);
    lb = extent = -1;
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    EQUAL(lb, 0);
    EQUAL(extent, 40);
    MPI_Type_size_x(type, &size);
    EQUAL(size, 24);
    int out[10], in[10] = {0}, packed[6];
    for (int i = 0; i < 10; i++)
        out[i] = i + 1;
    MPI_Count position = 0, room = 0;
    MPI_Pack_size_c(1, type, check_comm, &room);
    CHECK(room >= 24, "room for 24 bytes is %lld", (long long)room);
    MPI_Pack_c(out, 1, type, packed, sizeof packed, &position, check_comm);
    EQUAL(position, 24);
    position = 0;
    MPI_Unpack_c(packed, sizeof packed, &position, in, 1, type, check_comm);
    EQUAL(position, 24);
    EQUAL(in[9], 10);
    EQUAL(in[2], 0);
    note_bytes(in, sizeof in);
    char there[24];
    memset(in, 0, sizeof in);
    position = 0;
    MPI_Pack_external_c("external32", out, 1, type, there, sizeof there, &position);
    EQUAL(there[3], 1);
    position = 0;
    MPI_Unpack_external_c("external32", there, sizeof there, &position, in, 1, type);
    EQUAL(position, 24);
    EQUAL(in[8], 9);
    note_bytes(in, sizeof in);
    int key = 0, flag = 1, value = 3;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_set_attr(type, key, &value);
    MPI_Type_delete_attr(type, key);
    MPI_Type_get_attr(type, key, &value, &flag);
    EQUAL(flag, 0);
    MPI_Type_free_keyval(&key);
    MPI_Type_free(&type);
    section("large");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "types_forms");
    removed_names();
    by_size();
    large();
    return check_end();
}
