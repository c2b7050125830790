/*
 * Random derived datatypes: bounds, packing, decoding and rebuilding, sending with one type and
 * receiving with another of the same signature. Every byte is compared with the model's.
 */
#include "model.h"
#include <unistd.h>

/* Rebuilds a type from the description that MPI returns. */
static MPI_Datatype rebuilt(MPI_Datatype type)
{
    MPI_Count ni, na, nc, nd;
    int combiner;
    MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &combiner);
    if (combiner == MPI_COMBINER_NAMED)
        return type;
    int *i = calloc((size_t)ni + 1, sizeof *i);
    MPI_Aint *a = calloc((size_t)na + 1, sizeof *a);
    MPI_Count *c = calloc((size_t)nc + 1, sizeof *c);
    MPI_Datatype *d = calloc((size_t)nd + 1, sizeof *d), *e = calloc((size_t)nd + 1, sizeof *e), new;
    MPI_Type_get_contents_c(type, ni, na, nc, nd, i, a, c, d);
    for (int k = 0; k < nd; k++)
        e[k] = rebuilt(d[k]);
    int l = nc > 0, n = l ? (int)c[0] : i[0];
    switch (combiner) {
    case MPI_COMBINER_DUP:
        MPI_Type_dup(e[0], &new);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        MPI_Type_contiguous(n, e[0], &new);
        break;
    case MPI_COMBINER_VECTOR:
        MPI_Type_vector(n, l ? (int)c[1] : i[1], l ? (int)c[2] : i[2], e[0], &new);
        break;
    case MPI_COMBINER_HVECTOR:
        MPI_Type_create_hvector(n, l ? (int)c[1] : i[1], l ? (MPI_Aint)c[2] : a[0], e[0], &new);
        break;
    case MPI_COMBINER_INDEXED:
        if (l)
            MPI_Type_indexed_c(n, c + 1, c + 1 + n, e[0], &new);
        else
            MPI_Type_indexed(n, i + 1, i + 1 + n, e[0], &new);
        break;
    case MPI_COMBINER_HINDEXED:
        if (l)
            MPI_Type_create_hindexed_c(n, c + 1, c + 1 + n, e[0], &new);
        else
            MPI_Type_create_hindexed(n, i + 1, a, e[0], &new);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        if (l)
            MPI_Type_create_indexed_block_c(n, c[1], c + 2, e[0], &new);
        else
            MPI_Type_create_indexed_block(n, i[1], i + 2, e[0], &new);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        if (l)
            MPI_Type_create_hindexed_block_c(n, c[1], c + 2, e[0], &new);
        else
            MPI_Type_create_hindexed_block(n, i[1], a, e[0], &new);
        break;
    case MPI_COMBINER_STRUCT:
        if (l)
            MPI_Type_create_struct_c(n, c + 1, c + 1 + n, e, &new);
        else
            MPI_Type_create_struct(n, i + 1, a, e, &new);
        break;
    case MPI_COMBINER_RESIZED:
        MPI_Type_create_resized(e[0], l ? (MPI_Aint)c[0] : a[0], l ? (MPI_Aint)c[1] : a[1], &new);
        break;
    case MPI_COMBINER_SUBARRAY:
        n = i[0];
        if (l)
            MPI_Type_create_subarray_c(n, c, c + n, c + 2 * n, i[1], e[0], &new);
        else
            MPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n, i[1 + 3 * n], e[0], &new);
        break;
    case MPI_COMBINER_DARRAY:
        n = i[2];
        if (l)
            MPI_Type_create_darray_c(i[0], i[1], n, c, i + 3, i + 3 + n, i + 3 + 2 * n,
                                     i[3 + 3 * n], e[0], &new);
        else
            MPI_Type_create_darray(i[0], i[1], n, i + 3, i + 3 + n, i + 3 + 2 * n, i + 3 + 3 * n,
                                   i[3 + 4 * n], e[0], &new);
        break;
    default:
        CHECK(0, "combiner %d was never asked for", combiner);
        new = MPI_BYTE;
    }
    for (int k = 0; k < nd; k++) {
        if (!is_named(d[k])) {
            MPI_Type_free(&e[k]);
            MPI_Type_free(&d[k]);
        }
    }
    free(i), free(a), free(c), free(d), free(e);
    return new;
}

static void same(const void *got, const void *want, size_t bytes, const char *what,
                 const struct model *m)
{
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < bytes; i++)
        if (g[i] != w[i]) {
            CHECK(0, "%s: byte %zu of %zu is %02x, must be %02x; type %s", what, i, bytes, g[i], w[i],
                  m->story);
            return;
        }
}

static void bounds(const struct model *m)
{
    MPI_Aint lb, extent;
    MPI_Count lb_x, extent_x, size_x;
    int size;
    MPI_Type_get_extent(m->type, &lb, &extent);
    CHECK(lb == m->lb && extent == model_extent(m), "bounds %ld+%ld, must be %ld+%ld; type %s",
          (long)lb, (long)extent, m->lb, model_extent(m), m->story);
    MPI_Type_get_true_extent(m->type, &lb, &extent);
    CHECK(lb == true_lb(m) && extent == true_ub(m) - true_lb(m),
          "true bounds %ld+%ld, must be %ld+%ld; type %s", (long)lb, (long)extent, true_lb(m),
          true_ub(m) - true_lb(m), m->story);
    MPI_Type_get_extent_c(m->type, &lb_x, &extent_x);
    CHECK(lb_x == m->lb && extent_x == model_extent(m), "large bounds differ; type %s", m->story);
    MPI_Type_size(m->type, &size);
    MPI_Type_size_c(m->type, &size_x);
    CHECK(size == model_bytes(m) && size_x == size, "size %d, must be %ld; type %s", size,
          model_bytes(m), m->story);
    note(lb);
    note(extent);
    note(size);
}

static void packing(struct random *r, const struct model *m, int count)
{
    struct memory x = memory_for(m, count), want = memory_for(m, count);
    size_t bytes = (size_t)(model_bytes(m) * count);
    unsigned char *by_model = malloc(bytes + 1), *packed;
    fill(x.all, x.bytes, (uint32_t)random_seed, (uint32_t)bytes);
    gather_by_model(m, count, x.base, by_model);
    int room, position = 3;
    MPI_Pack_size(count, m->type, check_comm, &room);
    CHECK(room >= (int)bytes, "room %d for %zu bytes", room, bytes);
    packed = malloc((size_t)room + 8);
    memset(packed, 0xa5, (size_t)room + 8);
    MPI_Pack(x.base, count, m->type, packed, room + 8, &position, check_comm);
    EQUAL(position, 3 + (int)bytes);
    same(packed + 3, by_model, bytes, "packed", m);
    CHECK(packed[2] == 0xa5 && packed[3 + bytes] == 0xa5, "packing wrote beyond; type %s", m->story);
    MPI_Count position_c = 0;
    MPI_Pack_c(x.base, count, m->type, packed, room + 8, &position_c, check_comm);
    EQUAL(position_c, bytes);
    same(packed, by_model, bytes, "packed by the large form", m);
    note_bytes(packed, bytes);

    MPI_Datatype again = rebuilt(m->type);
    if (again != m->type) {
        MPI_Aint lb, extent;
        MPI_Type_commit(&again);
        position = 0;
        MPI_Pack(x.base, count, again, packed, room + 8, &position, check_comm);
        same(packed, by_model, bytes, "packed with the type built again", m);
        MPI_Type_get_extent(again, &lb, &extent);
        CHECK(lb == m->lb && extent == model_extent(m), "bounds of the type built again: %ld+%ld", (long)lb,
              (long)extent);
        MPI_Type_free(&again);
    }
    if (!overlaps(m, count)) {
        fill(x.all, x.bytes, 77, (uint32_t)bytes);
        memcpy(want.all, x.all, x.bytes);
        scatter_by_model(m, count, want.base, by_model, bytes);
        position = 0;
        /* In two parts: the second begins where the first ended. */
        int first = (int)below(r, (uint32_t)count + 1);
        MPI_Unpack(by_model, (int)bytes, &position, x.base, first, m->type, check_comm);
        EQUAL(position, model_bytes(m) * first);
        MPI_Unpack(by_model, (int)bytes, &position, x.base + first * model_extent(m), count - first,
                   m->type, check_comm);
        EQUAL(position, bytes);
        same(x.all, want.all, x.bytes, "unpacked", m);
    }
    free(x.all), free(want.all), free(by_model), free(packed);
}

/* Around the ring, with one type on the sending side and another on the receiving side. */
static void sending(struct random *r, const struct model *a, const struct model *b, int count)
{
    int next = (check_rank + 1) % check_size, prev = (check_rank + check_size - 1) % check_size;
    int shorter = (int)below(r, 3) == 0 ? 1 + (int)below(r, (uint32_t)count) : count;
    int mode = (int)below(r, 5), large = (int)below(r, 2);
    struct memory x = memory_for(a, count), y = memory_for(b, 1), want = memory_for(b, 1);
    size_t bytes = (size_t)(model_bytes(a) * shorter);
    unsigned char *wire = malloc(bytes + 1);
    fill(x.all, x.bytes, (uint32_t)prev, (uint32_t)bytes);
    gather_by_model(a, shorter, x.base, wire);
    fill(x.all, x.bytes, (uint32_t)check_rank, (uint32_t)bytes);
    fill(y.all, y.bytes, 5, 5);
    memcpy(want.all, y.all, y.bytes);
    scatter_by_model(b, 1, want.base, wire, bytes);
    MPI_Status status;
    MPI_Request requests[2];
    switch (mode) {
    case 0:
        MPI_Sendrecv(x.base, shorter, a->type, next, 1, y.base, 1, b->type, prev, 1, check_comm, &status);
        break;
    case 1:
        MPI_Irecv(y.base, 1, b->type, prev, 1, check_comm, &requests[0]);
        if (large)
            MPI_Send_c(x.base, shorter, a->type, next, 1, check_comm);
        else
            MPI_Ssend(x.base, shorter, a->type, next, 1, check_comm);
        MPI_Wait(&requests[0], &status);
        break;
    case 2:
        MPI_Isend(x.base, shorter, a->type, next, 1, check_comm, &requests[1]);
        MPI_Probe(prev, 1, check_comm, &status);
        if (large)
            MPI_Recv_c(y.base, 1, b->type, prev, 1, check_comm, &status);
        else
            MPI_Recv(y.base, 1, b->type, prev, 1, check_comm, &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case 3: {
        MPI_Message message;
        MPI_Issend(x.base, shorter, a->type, next, 1, check_comm, &requests[1]);
        MPI_Mprobe(prev, 1, check_comm, &message, &status);
        MPI_Imrecv(y.base, 1, b->type, &message, &requests[0]);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    }
    default:
        MPI_Recv_init(y.base, 1, b->type, prev, 1, check_comm, &requests[0]);
        MPI_Send_init(x.base, shorter, a->type, next, 1, check_comm, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], &status);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    same(y.all, want.all, y.bytes, "received with another type", b);
    int elements, got;
    if (!peer_is_mpich_4_0()) { /* divides by zero */
        MPI_Get_elements(&status, b->type, &elements);
        EQUAL(elements, a->n * shorter);
    }
    MPI_Get_count(&status, a->type, &got);
    EQUAL(got, shorter);
    MPI_Get_count(&status, b->type, &got);
    EQUAL(got, shorter == count ? 1 : MPI_UNDEFINED);
    note_bytes(y.all, y.bytes);
    free(x.all), free(y.all), free(want.all), free(wire);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "types");
    model_begin(argc, argv);
    struct random r = {random_seed * 1000003};
    if (check_rank == 0)
        printf("seed %llu\n", (unsigned long long)random_seed);
    for (int round = 0; round < random_rounds; round++) {
        struct model m = model_random(&r, 1 + (int)below(&r, 4));
        int count = 1 + (int)below(&r, 4);
        MPI_Type_commit(&m.type);
        bounds(&m);
        packing(&r, &m, count);
        struct model b = model_same_signature(&r, &m, count);
        MPI_Type_commit(&b.type);
        bounds(&b);
        packing(&r, &b, 1);
        sending(&r, &m, &b, count);
        model_free(&m);
        model_free(&b);
        if (random_pause_us)
            usleep((useconds_t)random_pause_us);
    }
    section("types");
    return check_end();
}
