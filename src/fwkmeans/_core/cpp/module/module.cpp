// What Python calls of the core.
#include "module/accumulation.hpp"
#include "module/alternate.hpp"
#include "module/arrays.hpp"
#include "module/describe.hpp"
#include "module/labels.hpp"
#include "module/points.hpp"
#include "seeding/spread.hpp"
#include "sparse/sparse_module.hpp"

namespace fwk { namespace {

template <class T> void define(nb::module_& m) {
    m.def("alternate", &alternate<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
        nb::arg());
    m.def("assign_and_accumulate", &assign_and_accumulate<T>, nb::arg().noconvert(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("farthest", &farthest<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("assign", &assign<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("distances", &distances<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("observed", &observed<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("slopes", &slopes<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("powers", &powers<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
    m.def("roots", &roots<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
    m.def("describe_alone", &describe_alone<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("describe", &describe<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
}

}}  // namespace fwk

NB_MODULE(_kernels, m) {
    fwk::define<double>(m);
    fwk::define<float>(m);
    fwk::define_sparse<double>(m);
    fwk::define_sparse<float>(m);
    m.def("spread", &fwk::spread);
    m.def("exp", &fwk::exp);
    m.def("log", &fwk::log);
    m.def("summarize", &fwk::summarize);
    m.def("largest_share", &fwk::largest_share);
    m.def("add_masses", &fwk::add_masses, nb::arg(), nb::arg().none(), nb::arg());
    m.def("n_segments", &fwk::n_segments);
    m.def("useful_threads", &fwk::useful_threads);
    m.attr("SEGMENT") = fwk::SEGMENT;
    m.def("instruction_set", fwk::name_of_instruction_set);
    m.def("x86_level", [](std::uint32_t leaf1_ecx, std::uint32_t leaf7_ebx,
                           std::uint32_t extended1_ecx, std::uint32_t saved_registers) {
        return fwk::x86_level({leaf1_ecx, leaf7_ebx, extended1_ecx, saved_registers});
    });
}
