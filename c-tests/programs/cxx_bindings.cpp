// The C++ bindings of the user's MPICH: an operation, an error handler and an attribute whose
// functions are C++, and an exception.
#include <iostream>
#include <mpi.h>

static int handled, copied, deleted;

static void add(const void *in, void *inout, int len, const MPI::Datatype &)
{
    for (int i = 0; i < len; i++)
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
}

static void handler(MPI::Comm &comm, int *code, ...)
{
    handled += *code != 0 && comm.Get_size() > 0;
}

static int of_file;

static void file_handler(MPI::File &file, int *code, ...)
{
    of_file += *code != 0 && file.Get_size() == 3;
}

static int copy(const MPI::Comm &, int, void *, void *value, void *out, bool &keep)
{
    copied++;
    *static_cast<void **>(out) = value;
    keep = true;
    return MPI_SUCCESS;
}

static int drop(MPI::Comm &, int, void *, void *)
{
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    MPI::Intracomm &world = MPI::COMM_WORLD;
    int rank = world.Get_rank(), size = world.Get_size(), sum = 0, one = 1;
    MPI::Op op;
    op.Init(add, true);
    world.Allreduce(&one, &sum, 1, MPI::INT, op);
    op.Free();

    MPI::Errhandler own = MPI::Comm::Create_errhandler(handler);
    world.Set_errhandler(own);
    MPI_Send(&one, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    world.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    int thrown = 0;
    try {
        world.Send(&one, 1, MPI::INT, size + 5, 0);
    } catch (MPI::Exception &e) {
        thrown = e.Get_error_class() == MPI::ERR_RANK;
    }

    MPI::File file = MPI::File::Open(MPI::COMM_SELF, rank ? "cxx.1" : "cxx.0",
                                     MPI::MODE_CREATE | MPI::MODE_RDWR | MPI::MODE_DELETE_ON_CLOSE, MPI::INFO_NULL);
    file.Set_size(3);
    MPI::Errhandler files_own = MPI::File::Create_errhandler(file_handler);
    file.Set_errhandler(files_own);
    MPI_File_seek(file, -5, MPI_SEEK_SET);
    file.Close();

    int key = MPI::Comm::Create_keyval(copy, drop, 0), value = 7;
    world.Set_attr(key, &value);
    MPI::Intracomm other = world.Dup();
    void *found = 0;
    bool there = other.Get_attr(key, &found);
    other.Free();
    world.Delete_attr(key);
    bool good = sum == size && handled == 1 && of_file == 1 && thrown && there && found == &value && copied == 1 && deleted == 2;
    if (!good)
        std::cerr << "rank " << rank << ": sum " << sum << " handled " << handled << " of file " << of_file
                  << " thrown " << thrown << " there " << there << " copied " << copied << " deleted " << deleted << std::endl;
    int all = good, every = 0;
    world.Allreduce(&all, &every, 1, MPI::INT, MPI::MIN);
    if (rank == 0 && every)
        std::cout << "bindings on " << size << ": ok" << std::endl;
    MPI::Finalize();
    return good ? 0 : 1;
}
