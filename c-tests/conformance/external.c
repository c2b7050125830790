/* Chapter 5: packing in external32. */
#include "../check.h"
#include <stddef.h>

#define SIZES 20
static void sizes(void)
{
    MPI_Datatype types[SIZES] = {
        MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_LONG_DOUBLE, MPI_WCHAR, MPI_BYTE, MPI_PACKED, MPI_C_BOOL, MPI_INT8_T, MPI_UINT16_T,
        MPI_INT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_C_DOUBLE_COMPLEX};
    for (int i = 0; i < SIZES; i++) {
        MPI_Aint size = -1;
        MPI_Pack_external_size("external32", 3, types[i], &size);
        note(size);
    }
    section("sizes");
}

static void values(void)
{
    char out[400];
    MPI_Aint at = 0;
    short s[3] = {1, -2, 300};
    int n[2] = {0x01020304, -5};
    long l[3] = {7, -8, 2147483647};
    double d[2] = {1.5, -0.1};
    float f = 3.25f;
    char c[4] = "abc";
    memset(out, 0, sizeof out);
    MPI_Pack_external("external32", s, 3, MPI_SHORT, out, sizeof out, &at);
    EQUAL(at, 6);
    MPI_Pack_external("external32", n, 2, MPI_INT, out, sizeof out, &at);
    MPI_Pack_external("external32", l, 3, MPI_LONG, out, sizeof out, &at);
    MPI_Pack_external("external32", d, 2, MPI_DOUBLE, out, sizeof out, &at);
    MPI_Pack_external("external32", &f, 1, MPI_FLOAT, out, sizeof out, &at);
    MPI_Pack_external("external32", c, 4, MPI_CHAR, out, sizeof out, &at);
    EQUAL(at, 6 + 8 + 12 + 16 + 4 + 4);
    EQUAL(out[6], 1);
    EQUAL(out[9], 4);
    note_bytes(out, (size_t)at);
    section("values");
    short s2[3];
    int n2[2];
    long l2[3];
    double d2[2];
    float f2;
    char c2[4];
    MPI_Aint from = 0;
    MPI_Unpack_external("external32", out, at, &from, s2, 3, MPI_SHORT);
    MPI_Unpack_external("external32", out, at, &from, n2, 2, MPI_INT);
    MPI_Unpack_external("external32", out, at, &from, l2, 3, MPI_LONG);
    MPI_Unpack_external("external32", out, at, &from, d2, 2, MPI_DOUBLE);
    MPI_Unpack_external("external32", out, at, &from, &f2, 1, MPI_FLOAT);
    MPI_Unpack_external("external32", out, at, &from, c2, 4, MPI_CHAR);
    EQUAL(from, at);
    CHECK(!memcmp(s, s2, sizeof s) && !memcmp(n, n2, sizeof n) && !memcmp(d, d2, sizeof d) && f == f2 &&
              !memcmp(c, c2, 4) && !memcmp(l, l2, sizeof l),
          "values did not come back");
}

static void derived(void)
{
    struct part {
        char a;
        double b[2];
        int c;
    } in[3], back[3];
    memset(in, 0, sizeof in);
    memset(back, 0, sizeof back);
    for (int i = 0; i < 3; i++)
        in[i] = (struct part){.a = (char)('x' + i), .b = {i + 0.5, -i}, .c = 1000 * i - 7};
    MPI_Datatype type, strided;
    MPI_Type_create_struct(3, (int[]){1, 2, 1},
                           (MPI_Aint[]){offsetof(struct part, a), offsetof(struct part, b),
                                        offsetof(struct part, c)},
                           (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_INT}, &type);
    MPI_Type_commit(&type);
    char out[100];
    MPI_Aint at = 0, size, from = 0;
    MPI_Pack_external_size("external32", 3, type, &size);
    EQUAL(size, 3 * (1 + 16 + 4));
    MPI_Pack_external("external32", in, 3, type, out, sizeof out, &at);
    EQUAL(at, size);
    EQUAL(out[0], 'x');
    note_bytes(out, (size_t)at);
    MPI_Unpack_external("external32", out, at, &from, back, 3, type);
    EQUAL(from, at);
    for (int i = 0; i < 3; i++)
        CHECK(in[i].a == back[i].a && in[i].b[0] == back[i].b[0] && in[i].b[1] == back[i].b[1] &&
                  in[i].c == back[i].c, "element %d", i);
    MPI_Type_free(&type);
    int grid[4][5], column[4];
    for (int i = 0; i < 20; i++)
        grid[i / 5][i % 5] = i;
    MPI_Type_vector(4, 1, 5, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    at = from = 0;
    MPI_Pack_external("external32", &grid[0][2], 1, strided, out, sizeof out, &at);
    MPI_Unpack_external("external32", out, at, &from, column, 4, MPI_INT);
    for (int i = 0; i < 4; i++)
        EQUAL(column[i], 5 * i + 2);
    MPI_Type_free(&strided);
    section("derived");
}

#ifdef FTMPI_VERSION
static void wrong(void)
{
    char out[8];
    MPI_Aint at = 0;
    int x[4] = {0}, class;
    long big = 1L << 40;
    long double wide[2] = {1.0L / 3, -0.0L}, back[2];
    struct {
        double value;
        int index;
    } pair = {2.5, 9}, pair_back;
    char room[64];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Pack_external("internal", x, 1, MPI_INT, out, 8, &at), &class);
    EQUAL(class, MPI_ERR_ARG);
    MPI_Error_class(MPI_Pack_external("external32", x, 3, MPI_INT, out, 8, &at), &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
    MPI_Error_class(MPI_Pack_external("external32", &big, 1, MPI_LONG, out, 8, &at), &class);
    EQUAL(class, MPI_ERR_CONVERSION);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    at = 0;
    MPI_Pack_external("external32", wide, 2, MPI_LONG_DOUBLE, room, sizeof room, &at);
    EQUAL(at, 32);
    EQUAL((unsigned char)room[0], 0x3f);
    EQUAL((unsigned char)room[1], 0xfd);
    EQUAL((unsigned char)room[2], 0x55);
    at = 0;
    MPI_Unpack_external("external32", room, 32, &at, back, 2, MPI_LONG_DOUBLE);
    CHECK(back[0] == wide[0] && back[1] == wide[1], "long double");
    at = 0;
    MPI_Pack_external("external32", &pair, 1, MPI_DOUBLE_INT, room, sizeof room, &at);
    EQUAL(at, 12);
    at = 0;
    MPI_Unpack_external("external32", room, 12, &at, &pair_back, 1, MPI_DOUBLE_INT);
    CHECK(pair_back.value == 2.5 && pair_back.index == 9, "pair");
    MPI_Count position = 0, size;
    MPI_Pack_external_size_c("external32", 5, MPI_INT, &size);
    EQUAL(size, 20);
    MPI_Pack_external_c("external32", x, 4, MPI_INT, room, sizeof room, &position);
    EQUAL(position, 16);
}
#endif

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "external");
    sizes();
    values();
    derived();
#ifdef FTMPI_VERSION
    wrong();
#endif
    return check_end();
}
