/* Chapter 7: groups, communicators, intercommunicators, attributes with callbacks, names. */
#include "../check.h"

static int n, me;

static void group_sets(void)
{
    MPI_Group world, even, low, g, h;
    int size, rank, result, list[64], out[64];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &size);
    MPI_Group_rank(world, &rank);
    EQUAL(size, n);
    EQUAL(rank, me);
    int evens = 0, lows = (n + 1) / 2;
    for (int r = 0; r < n; r += 2)
        list[evens++] = r;
    MPI_Group_incl(world, evens, list, &even);
    for (int r = 0; r < lows; r++)
        list[r] = r;
    MPI_Group_incl(world, lows, list, &low);
    MPI_Group_rank(even, &rank);
    EQUAL(rank, me % 2 ? MPI_UNDEFINED : me / 2);

    MPI_Group_union(even, low, &g);   /* even ranks first, then the new ones */
    MPI_Group_size(g, &size);
    int want = evens, seen[64] = {0};
    for (int i = 0; i < evens; i++)
        seen[i] = 2 * i;
    for (int r = 1; r < lows; r += 2)
        seen[want++] = r;
    EQUAL(size, want);
    for (int i = 0; i < size; i++)
        list[i] = i;
    MPI_Group_translate_ranks(g, size, list, world, out);
    for (int i = 0; i < size; i++)
        EQUAL(out[i], seen[i]);
    MPI_Group_free(&g);

    MPI_Group_intersection(even, low, &g);
    MPI_Group_size(g, &size);
    EQUAL(size, (lows + 1) / 2);
    MPI_Group_difference(even, low, &h);
    MPI_Group_size(h, &size);
    EQUAL(size, evens - (lows + 1) / 2);
    MPI_Group_free(&g);
    MPI_Group_free(&h);

    MPI_Group_excl(world, evens, (int[]){0, 2, 4, 6, 8, 10, 12, 14, 16}, &g);
    MPI_Group_size(g, &size);
    EQUAL(size, n - evens);
    MPI_Group_free(&g);

    int range[1][3] = {{n - 1, 0, -1}};
    MPI_Group_range_incl(world, 1, range, &g);
    MPI_Group_rank(g, &rank);
    EQUAL(rank, n - 1 - me);
    MPI_Group_compare(world, g, &result);
    EQUAL(result, n == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_compare(world, world, &result);
    EQUAL(result, MPI_IDENT);
    MPI_Group_compare(world, low, &result);
    EQUAL(result, n == lows ? MPI_IDENT : MPI_UNEQUAL);
    MPI_Group_free(&g);
    int odd[1][3] = {{0, n - 1, 2}};
    MPI_Group_range_excl(world, 1, odd, &g);
    MPI_Group_size(g, &size);
    EQUAL(size, n / 2);
    int first = 0, minus = MPI_PROC_NULL, translated;
    MPI_Group_translate_ranks(world, 1, &first, g, &translated);
    EQUAL(translated, MPI_UNDEFINED);
    MPI_Group_translate_ranks(world, 1, &minus, g, &translated);
    CHECK(n == 1 || translated == MPI_PROC_NULL, "MPI_PROC_NULL became %d", translated);
    if (g != MPI_GROUP_EMPTY)
        MPI_Group_free(&g);
    MPI_Group_size(MPI_GROUP_EMPTY, &size);
    EQUAL(size, 0);
    MPI_Group_incl(world, 0, NULL, &g);
    MPI_Group_compare(g, MPI_GROUP_EMPTY, &result);
    EQUAL(result, MPI_IDENT);
    MPI_Group_free(&even);
    MPI_Group_free(&low);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL, "Group_free left a handle");
}

static void communicators(void)
{
    MPI_Comm dup, split, sub, none;
    MPI_Group world, part;
    int result, rank, size;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_compare(dup, MPI_COMM_WORLD, &result);
    EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_compare(dup, dup, &result);
    EQUAL(result, MPI_IDENT);
    MPI_Comm_compare(MPI_COMM_SELF, MPI_COMM_WORLD, &result);
    EQUAL(result, n == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_split(dup, 0, -me, &split);
    MPI_Comm_compare(split, MPI_COMM_WORLD, &result);
    EQUAL(result, n == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&split);

    for (int colours = 1; colours <= 4; colours++) {
        MPI_Comm_split(dup, me % colours, 1000 - me, &split);
        MPI_Comm_rank(split, &rank);
        MPI_Comm_size(split, &size);
        int members = 0, before = 0;
        for (int r = 0; r < n; r++)
            if (r % colours == me % colours) {
                members++;
                before += r > me;
            }
        EQUAL(size, members);
        EQUAL(rank, before);
        int sum = 0, want = 0;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, split);
        for (int r = me % colours; r < n; r += colours)
            want += r;
        EQUAL(sum, want);
        MPI_Comm_free(&split);
    }
    /* equal keys keep the old order; MPI_UNDEFINED stays out */
    MPI_Comm_split(dup, me % 2 ? MPI_UNDEFINED : 5, 0, &split);
    if (me % 2) {
        CHECK(split == MPI_COMM_NULL, "an undefined colour got a communicator");
    } else {
        MPI_Comm_rank(split, &rank);
        EQUAL(rank, me / 2);
        MPI_Comm_free(&split);
    }
    MPI_Comm_group(dup, &world);
    MPI_Group_range_incl(world, 1, (int[1][3]){{0, (n - 1) / 2, 1}}, &part);
    MPI_Comm_create(dup, part, &sub);
    if (me <= (n - 1) / 2) {
        MPI_Comm_rank(sub, &rank);
        EQUAL(rank, me);
        MPI_Barrier(sub);
        MPI_Comm_free(&sub);
    } else {
        CHECK(sub == MPI_COMM_NULL, "Comm_create gave a communicator to an outsider");
    }
    MPI_Comm_create(dup, MPI_GROUP_EMPTY, &none);
    CHECK(none == MPI_COMM_NULL, "an empty group made a communicator");
    if (me <= (n - 1) / 2) {
        MPI_Comm_create_group(dup, part, 7, &sub);
        MPI_Comm_size(sub, &size);
        EQUAL(size, (n - 1) / 2 + 1);
        MPI_Comm_free(&sub);
    }
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    /* many in a row: context numbers must be reused */
    for (int i = 0; i < 300; i++) {
        MPI_Comm_dup(dup, &sub);
        if (i % 50 == 0)
            MPI_Barrier(sub);
        MPI_Comm_free(&sub);
    }
    /* free while a message is in flight */
    MPI_Comm_dup(MPI_COMM_WORLD, &sub);
    int out = me, in = -1;
    MPI_Request q[2];
    MPI_Irecv(&in, 1, MPI_INT, (me + n - 1) % n, 3, sub, &q[0]);
    MPI_Isend(&out, 1, MPI_INT, (me + 1) % n, 3, sub, &q[1]);
    MPI_Comm_free(&sub);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    EQUAL(in, (me + n - 1) % n);

    char name[MPI_MAX_OBJECT_NAME];
    int len = 0;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &len);
    CHECK(!strcmp(name, "MPI_COMM_WORLD") && len == 14, "name of the world is %s", name);
    MPI_Comm_set_name(dup, "ring of seven");
    MPI_Comm_get_name(dup, name, &len);
    CHECK(!strcmp(name, "ring of seven") && len == 13, "name is %s", name);
    MPI_Comm_free(&dup);
    CHECK(dup == MPI_COMM_NULL, "Comm_free left a handle");
}

static void intercommunicators(void)
{
    if (n < 2)
        return;
    MPI_Comm local, inter, merged, dup;
    MPI_Group group;
    int side = me % 2, flag, size, remote, rank, in = -1, mine;
    MPI_Status s;
    MPI_Comm_split(MPI_COMM_WORLD, side, me, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 12, &inter);
    MPI_Comm_test_inter(inter, &flag);
    EQUAL(flag, 1);
    MPI_Comm_test_inter(local, &flag);
    EQUAL(flag, 0);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    EQUAL(rank, me / 2);
    EQUAL(size, side ? n / 2 : (n + 1) / 2);
    EQUAL(remote, side ? (n + 1) / 2 : n / 2);
    MPI_Comm_remote_group(inter, &group);
    MPI_Group_size(group, &mine);
    EQUAL(mine, remote);
    MPI_Group_free(&group);
    /* all ranks write to remote rank 0, which answers */
    MPI_Request q;
    MPI_Isend(&me, 1, MPI_INT, 0, 5, inter, &q);
    if (rank == 0)
        for (int i = 0; i < remote; i++) {
            MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, &s);
            EQUAL(in, s.MPI_SOURCE * 2 + (1 - side));
            in++;
            MPI_Send(&in, 1, MPI_INT, s.MPI_SOURCE, 6, inter);
        }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Recv(&in, 1, MPI_INT, 0, 6, inter, MPI_STATUS_IGNORE);
    EQUAL(in, me + 1);
    MPI_Comm_dup(inter, &dup);
    MPI_Comm_compare(inter, dup, &flag);
    EQUAL(flag, MPI_CONGRUENT);
    MPI_Comm_free(&dup);
    MPI_Intercomm_merge(inter, side, &merged);   /* the even side comes first */
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    EQUAL(size, n);
    EQUAL(rank, side ? (n + 1) / 2 + me / 2 : me / 2);
    int sum = 0;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, merged);
    EQUAL(sum, n * (n - 1) / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

static int copies, deletes, refuse;

static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c;
    (void)key;
    CHECK(*(int *)extra == 99, "the extra state was lost");
    copies++;
    *flag = !refuse;
    *(void **)out = (char *)in + 1;
    return MPI_SUCCESS;
}

static int erase(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c;
    (void)key;
    (void)value;
    CHECK(*(int *)extra == 99, "the extra state was lost");
    deletes++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static int extra = 99;
    int key, old, flag, dups;
    char base[4];
    void *value;
    MPI_Comm a, b;
    MPI_Comm_create_keyval(copy, erase, &key, &extra);
    MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &old, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &dups, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_get_attr(a, key, &value, &flag);
    EQUAL(flag, 0);
    MPI_Comm_set_attr(a, key, base);
    MPI_Attr_put(a, old, base + 2);
    MPI_Comm_set_attr(a, dups, base + 3);
    MPI_Comm_get_attr(a, key, &value, &flag);
    CHECK(flag && value == base, "an attribute was not found");
    MPI_Comm_dup(a, &b);
    EQUAL(copies, 1);
    MPI_Comm_get_attr(b, key, &value, &flag);
    CHECK(flag && value == base + 1, "the copy callback's value was not taken");
    MPI_Attr_get(b, old, &value, &flag);
    CHECK(flag && value == base + 2, "MPI_DUP_FN did not copy");
    MPI_Comm_get_attr(b, dups, &value, &flag);
    EQUAL(flag, 0);
    MPI_Comm_set_attr(b, key, base);   /* replaces: the old value is deleted */
    EQUAL(deletes, 1);
    MPI_Comm_delete_attr(b, key);
    EQUAL(deletes, 2);
    MPI_Comm_free(&b);
    EQUAL(deletes, 2);
    refuse = 1;
    MPI_Comm_dup(a, &b);
    MPI_Comm_get_attr(b, key, &value, &flag);
    EQUAL(flag, 0);
    MPI_Comm_free(&b);
    MPI_Comm_free_keyval(&key);
    MPI_Keyval_free(&old);
    MPI_Comm_free_keyval(&dups);
    EQUAL(key, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&a);   /* still calls the freed key's callback */
    EQUAL(deletes, 3);
    int *v;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &v, &flag);
    CHECK(!flag || *v == 0 || *v == 1, "MPI_WTIME_IS_GLOBAL");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &v, &flag);
    CHECK(flag, "MPI_HOST");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &v, &flag);
    CHECK(flag, "MPI_IO");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &v, &flag);
    CHECK(flag && *v == 0, "MPI_APPNUM");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "groups_comms");
    n = check_size;
    me = check_rank;
    group_sets();
    section("groups");
    communicators();
    section("communicators");
    intercommunicators();
    section("intercommunicators");
    attributes();
    section("attributes");
    return check_end();
}
