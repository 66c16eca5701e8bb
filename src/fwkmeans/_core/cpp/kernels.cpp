// The only code that reads a row; README.md draws a pass. Compiled once per instruction set
// (FWK_ISA, FWK_BYTES); no standard library in here.
#include "assign/farthest.hpp"
#include "seeding/seeding.hpp"
#include "sums/describe.hpp"
#include "sums/points.hpp"
#include "sums/roots.hpp"

namespace fwk { namespace FWK_ISA {
namespace {

template <class T> constexpr Kernels<T> table_of() {
    return {{prepared_bytes<T>, prepare<T>, scratch_bytes<T>, packed_bytes<T>, begin_packing<T>,
                pack_rows<T>},
        {label<T>, label_in_single<T>, label_packed<T>, label_by_bounds<T>, measure<T>, farthest<T>,
            farthest_by_bounds<T>, distances<T>},
        {label_and_sum<T>, label_and_sum_changes<T>, label_by_bounds_and_sum<T>, sum_known<T>, sort,
            sum_clusters<T>},
        {slopes<T>, powers<T>, roots_bytes, roots<T>, describe<T>, observed<T>, seeding_rows,
            pack_for_seeding, nearest_candidates},
        FWK_NAME};
}

}  // namespace

extern const Kernels<double> f64;
extern const Kernels<float> f32;
const Kernels<double> f64 = table_of<double>();
const Kernels<float> f32 = table_of<float>();

}}  // namespace fwk::FWK_ISA
