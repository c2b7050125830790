/* Chapter 14: data representations of the program. A value of MPI_INT has six bytes in the file:
 * its number of bytes, the four bytes reversed, and their sum. Doubles are stored unchanged. The
 * MPICH for comparison refuses conversion functions, so it runs only the part that it can run. */
#include "../check.h"
#include <stddef.h>

enum { N = 100 };

static char path[300];
static int calls, state = 17;

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *extra)
{
    CHECK(extra == &state, "extent: another state");
    *bytes = type == MPI_INT ? 6 : type == MPI_DOUBLE ? 8 : 1;
    return MPI_SUCCESS;
}

static void to_file(unsigned char *out, int value)
{
    const unsigned char *bytes = (const unsigned char *)&value;
    out[0] = 4;
    out[5] = 0;
    for (int i = 0; i < 4; i++) {
        out[1 + i] = bytes[3 - i];
        out[5] = (unsigned char)(out[5] + bytes[i]);
    }
}

static int from_file(const unsigned char *in, int *value)
{
    unsigned char bytes[4], sum = 0;
    for (int i = 0; i < 4; i++) {
        bytes[3 - i] = in[1 + i];
        sum = (unsigned char)(sum + in[1 + i]);
    }
    memcpy(value, bytes, 4);
    return in[0] == 4 && in[5] == sum ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* The place of value `index` of the tiled datatype: plain integers, or pairs with a hole behind. */
static int *place(void *user, MPI_Datatype type, long long index)
{
    int bytes = 0;
    MPI_Aint lb = 0, apart = 0;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lb, &apart);
    long long each = bytes / 4;
    return (int *)((char *)user + index / each * apart) + index % each;
}

static int reading(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    CHECK(extra == &state, "read: another state");
    calls++;
    for (int i = 0; i < count; i++)
        if (from_file((unsigned char *)file + 6 * i, place(user, type, position + i)) != MPI_SUCCESS)
            return MPI_ERR_OTHER;
    return MPI_SUCCESS;
}

static int writing(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    CHECK(extra == &state, "write: another state");
    calls++;
    for (int i = 0; i < count; i++)
        to_file((unsigned char *)file + 6 * i, *place(user, type, position + i));
    return MPI_SUCCESS;
}

#ifdef FTMPI_VERSION
static int reading_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return reading(user, type, (int)count, file, position, extra);
}

static int writing_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return writing(user, type, (int)count, file, position, extra);
}

static int class_of(int code)
{
    int class = 0;
    MPI_Error_class(code, &class);
    return class;
}

static void converted(const char *name)
{
    MPI_File f;
    MPI_Status st;
    MPI_Datatype seen, pair, wide;
    MPI_Offset size = 0, where = 0;
    MPI_Aint far = 0;
    int out[N], in[2 * N], many = 0;
    char got[MPI_MAX_DATAREP_STRING] = "";
    for (int i = 0; i < N; i++)
        out[i] = 1000000 * check_rank + 70 * i;
    /* This rank has each n-th value. */
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)6 * check_size, &seen);
    MPI_Type_commit(&seen);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    EQUAL(MPI_File_set_view(f, 10 + 6 * check_rank, MPI_INT, seen, name, MPI_INFO_NULL), MPI_SUCCESS);
    MPI_Offset disp;
    MPI_Datatype e, v;
    MPI_File_get_view(f, &disp, &e, &v, got);
    EQUAL(strcmp(got, name), 0);
    MPI_Type_free(&v);
    MPI_File_get_type_extent(f, MPI_INT, &far);
    EQUAL(far, 6);
    MPI_File_get_byte_offset(f, 3, &where);
    EQUAL(where, 10 + 6 * check_rank + 18 * check_size);
    calls = 0;
    EQUAL(MPI_File_write_all(f, out, N, MPI_INT, &st), MPI_SUCCESS);
    CHECK(calls > 0, "the conversion was not called");
    MPI_Get_count(&st, MPI_INT, &many);
    EQUAL(many, N);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    MPI_File_get_size(f, &size);
    EQUAL(size, 10 + 6 * N * check_size);
    memset(in, 0, sizeof in);
    EQUAL(MPI_File_read_at(f, 0, in, N, MPI_INT, &st), MPI_SUCCESS);
    CHECK(!memcmp(in, out, sizeof out), "other values came back");
    /* In pairs with a hole, from the second value on, and beyond the end. */
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 12, &wide);
    MPI_Type_commit(&wide);
    memset(in, 0, sizeof in);
    EQUAL(MPI_File_read_at_all(f, 1, in, 3, wide, &st), MPI_SUCCESS);
    EQUAL(in[0], out[1]);
    EQUAL(in[1], out[2]);
    EQUAL(in[2], 0);
    EQUAL(in[3], out[3]);
    EQUAL(in[7], out[6]);
    MPI_File_read_at_all(f, N - 3, in, 10, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &many);
    EQUAL(many, 3);
    EQUAL(in[2], out[N - 1]);
    MPI_File_seek(f, 0, MPI_SEEK_END);
    MPI_File_get_position(f, &where);
    EQUAL(where, N);
    /* The bytes themselves. */
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    unsigned char bytes[6], want[6];
    MPI_File_read_at(f, 10 + 6 * (check_size * 5 + check_rank), bytes, 6, MPI_BYTE, &st);
    to_file(want, out[5]);
    CHECK(!memcmp(bytes, want, 6), "other bytes in the file");
    /* An error of the conversion function is an error of the access. */
    MPI_Barrier(check_comm);
    bytes[5]++;
    MPI_File_write_at(f, 10 + 6 * (check_size * 5 + check_rank), bytes, 6, MPI_BYTE, &st);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_set_view(f, 10 + 6 * check_rank, MPI_INT, seen, name, MPI_INFO_NULL);
    EQUAL(class_of(MPI_File_read_at(f, 5, in, 1, MPI_INT, &st)), MPI_ERR_CONVERSION);
    /* Values that would overlap. */
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, mixed;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MPI_Type_create_struct(2, lengths, places, types, &mixed);
    MPI_Type_commit(&mixed);
    EQUAL(class_of(MPI_File_set_view(f, 0, mixed, mixed, name, MPI_INFO_NULL)), MPI_ERR_IO);
    /* A buffer with other types than the etype. */
    EQUAL(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL), MPI_SUCCESS);
    EQUAL(class_of(MPI_File_write_at(f, 0, out, 4, MPI_BYTE, &st)), MPI_ERR_TYPE);
    MPI_Barrier(check_comm);
    MPI_File_close(&f);
    MPI_Type_free(&mixed);
    MPI_Type_free(&seen);
    MPI_Type_free(&pair);
    MPI_Type_free(&wide);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
}

struct item {
    int number;
    char letter;
    double value;
    long longer;
    short small[3];
};

static MPI_Datatype item_type(const MPI_Aint *places, MPI_Aint extent)
{
    static const int lengths[5] = {1, 1, 1, 1, 3};
    MPI_Datatype types[5] = {MPI_INT, MPI_CHAR, MPI_DOUBLE, MPI_LONG, MPI_SHORT}, made, all;
    MPI_Type_create_struct(5, lengths, places, types, &made);
    MPI_Type_create_resized(made, 0, extent, &all);
    MPI_Type_commit(&all);
    MPI_Type_free(&made);
    return all;
}

/* Structures of several types in external32: the file has the bytes of MPI_Pack_external. */
static void structures(void)
{
    enum { ITEMS = 40 };
    static struct item out[ITEMS], in[ITEMS];
    MPI_Aint here[5] = {offsetof(struct item, number), offsetof(struct item, letter), offsetof(struct item, value),
                        offsetof(struct item, longer), offsetof(struct item, small)};
    MPI_Aint there[5] = {0}, far = 0, total = 0, end = 0;
    MPI_Datatype kinds[5] = {MPI_INT, MPI_CHAR, MPI_DOUBLE, MPI_LONG, MPI_SHORT};
    MPI_File f;
    MPI_Status st;
    MPI_Offset size = 0, where = 0;
    int many = 0;
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    for (int i = 0; i < ITEMS; i++) {
        out[i].number = 100000 * check_rank - i;
        out[i].letter = (char)('a' + i % 26);
        out[i].value = i / 8.0;
        out[i].longer = -3 * i;
        for (int k = 0; k < 3; k++)
            out[i].small[k] = (short)(i * k);
    }
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
    for (int i = 0; i < 5; i++) {
        there[i] = total;
        MPI_File_get_type_extent(f, kinds[i], &far);
        total += i == 4 ? 3 * far : far;
    }
    EQUAL(total, 4 + 1 + 8 + 4 + 6);
    MPI_Datatype memory = item_type(here, sizeof(struct item)), file = item_type(there, total);
    /* Dense in the file, after a head of 7 bytes. */
    EQUAL(MPI_File_set_view(f, 7, file, file, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_get_type_extent(f, file, &far);
    EQUAL(far, total);
    EQUAL(MPI_File_write(f, out, ITEMS, memory, &st), MPI_SUCCESS);
    MPI_Get_count(&st, memory, &many);
    EQUAL(many, ITEMS);
    MPI_File_get_size(f, &size);
    EQUAL(size, 7 + ITEMS * total);
    MPI_File_get_position(f, &where);
    EQUAL(where, ITEMS);
    MPI_File_get_byte_offset(f, 3, &where);
    EQUAL(where, 7 + 3 * total);
    EQUAL(MPI_File_read_at(f, 0, in, ITEMS, memory, &st), MPI_SUCCESS);
    CHECK(!memcmp(in, out, sizeof in), "other structures came back");
    unsigned char *packed = calloc((size_t)(ITEMS * total), 1), *bytes = calloc((size_t)(ITEMS * total), 1);
    MPI_Pack_external("external32", out, ITEMS, memory, packed, ITEMS * total, &end);
    EQUAL(end, ITEMS * total);
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(f, 7, bytes, (int)(ITEMS * total), MPI_BYTE, &st);
    CHECK(!memcmp(bytes, packed, (size_t)(ITEMS * total)), "other bytes than MPI_Pack_external makes");
    /* The end of the file in the middle of a structure. */
    MPI_File_set_size(f, 7 + 2 * total + 6);
    MPI_File_set_view(f, 7, file, file, "external32", MPI_INFO_NULL);
    memset(in, 0, sizeof in);
    EQUAL(MPI_File_read_at(f, 1, in, 4, memory, &st), MPI_SUCCESS);
    MPI_Get_elements(&st, memory, &many);
    EQUAL(many, 7 + 2);
    EQUAL(in[0].longer, out[1].longer);
    EQUAL(in[1].number, out[2].number);
    EQUAL(in[1].letter, out[2].letter);
    EQUAL(in[1].small[0], 0);
    MPI_File_seek(f, 0, MPI_SEEK_END);
    MPI_File_get_position(f, &where);
    EQUAL(where, 3);
    /* This rank has every second value: four bytes in the file, eight in memory. */
    long row[10], back[10];
    for (int i = 0; i < 10; i++)
        row[i] = 7 * i - 30;
    MPI_Datatype second;
    MPI_Type_vector(10, 1, 2, MPI_LONG, &second);
    MPI_Type_commit(&second);
    MPI_File_set_size(f, 0);
    EQUAL(MPI_File_set_view(f, 0, MPI_LONG, second, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    EQUAL(MPI_File_write(f, row, 10, MPI_LONG, &st), MPI_SUCCESS);
    MPI_File_get_size(f, &size);
    EQUAL(size, 19 * 4);
    MPI_File_read_at(f, 0, back, 10, MPI_LONG, &st);
    CHECK(!memcmp(row, back, sizeof row), "other values in every second place");
    row[3] = 1L << 40;
    EQUAL(class_of(MPI_File_write_at(f, 0, row, 10, MPI_LONG, &st)), MPI_ERR_CONVERSION);
    MPI_File_close(&f);
    MPI_Type_free(&second);
    MPI_Type_free(&memory);
    MPI_Type_free(&file);
    free(packed);
    free(bytes);
}

/* Integers of six bytes and doubles of eight, in one structure. */
static int swapping(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    int *writes = extra;
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    EQUAL(bytes, 12);
    EQUAL(position, 0);
    unsigned char *at = file;
    for (int i = 0; i < count; i++) {
        char *element = (char *)user + i / 2 * 16;
        if (i % 2 == 0 && *writes)
            to_file(at, *(int *)element);
        else if (i % 2 == 0)
            EQUAL(from_file(at, (int *)element), MPI_SUCCESS);
        else if (*writes)
            memcpy(at, element + 8, 8);
        else
            memcpy(element + 8, at, 8);
        at += i % 2 ? 8 : 6;
    }
    return MPI_SUCCESS;
}

static int mixed_extent(MPI_Datatype type, MPI_Aint *bytes, void *extra)
{
    (void)extra;
    return extent(type, bytes, &state);
}

static void mixtures(void)
{
    static int writes = 1;
    struct {
        int i;
        double d;
    } out[5], in[5];
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    for (int i = 0; i < 5; i++) {
        out[i].i = 1000 * i + check_rank;
        out[i].d = i / 2.0;
    }
    int lengths[2] = {1, 1}, many = 0;
    MPI_Aint here[2] = {0, 8}, there[2] = {0, 6};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, memory, file;
    MPI_File f;
    MPI_Status st;
    MPI_Offset size = 0;
    MPI_Type_create_struct(2, lengths, here, types, &memory);
    MPI_Type_create_struct(2, lengths, there, types, &file);
    MPI_Type_commit(&memory);
    MPI_Type_commit(&file);
    EQUAL(MPI_Register_datarep("mixture", swapping, swapping, mixed_extent, &writes), MPI_SUCCESS);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    EQUAL(MPI_File_set_view(f, 0, file, file, "mixture", MPI_INFO_NULL), MPI_SUCCESS);
    EQUAL(MPI_File_write(f, out, 5, memory, &st), MPI_SUCCESS);
    MPI_Get_count(&st, memory, &many);
    EQUAL(many, 5);
    MPI_File_get_size(f, &size);
    EQUAL(size, 5 * 14);
    writes = 0;
    EQUAL(MPI_File_read_at(f, 0, in, 5, memory, &st), MPI_SUCCESS);
    CHECK(!memcmp(in, out, sizeof in), "other pairs came back");
    MPI_File_close(&f);
    MPI_Type_free(&memory);
    MPI_Type_free(&file);
}

static void refused(void)
{
    char name[MPI_MAX_DATAREP_STRING + 10];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    EQUAL(class_of(MPI_Register_datarep("six", reading, writing, extent, &state)), MPI_ERR_DUP_DATAREP);
    EQUAL(class_of(MPI_Register_datarep("native", reading, writing, extent, &state)), MPI_ERR_DUP_DATAREP);
    EQUAL(class_of(MPI_Register_datarep(name, reading, writing, extent, &state)), MPI_ERR_ARG);
    EQUAL(class_of(MPI_Register_datarep("none", reading, writing, NULL, &state)), MPI_ERR_ARG);
    MPI_File f;
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    EQUAL(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "vax", MPI_INFO_NULL)), MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_File_close(&f);
}
#endif

static int plain_extent(MPI_Datatype type, MPI_Aint *bytes, void *extra)
{
    int size = 0;
    (void)extra;
    MPI_Type_size(type, &size);
    *bytes = size;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "representations");
    /* In the working directory, under the same name in every incarnation of a rank (the process
     * id differs). */
    strcpy(path, "ftmpi-representations");
    (void)reading;
    (void)writing;
    (void)extent;
    /* Without functions: as in memory, under another name. */
    EQUAL(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, plain_extent, NULL), MPI_SUCCESS);
#ifdef FTMPI_VERSION
    EQUAL(MPI_Register_datarep("six", reading, writing, extent, &state), MPI_SUCCESS);
    EQUAL(MPI_Register_datarep_c("six of many", reading_c, writing_c, extent, &state), MPI_SUCCESS);
    converted("six");
    converted("six of many");
    refused();
    MPI_File f;
    double half = 0.5, back = 0;
    snprintf(path, sizeof path, "ftmpi-representations-%d", check_rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    EQUAL(MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_DOUBLE, "plain", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_write(f, &half, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at(f, 0, &back, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    CHECK(back == 0.5, "the plain representation");
    MPI_File_close(&f);
    structures();
    mixtures();
#endif
    section("representations");
    return check_end();
}
