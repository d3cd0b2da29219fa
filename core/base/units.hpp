/// Units. Simulated time is integer nanoseconds, so that schedules are exact and repeatable; the predictor
/// computes in double nanoseconds and rounds once, where a prediction becomes a job's run time.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <ratio>

namespace vtrain {

/// A span of simulated time: a whole number of nanoseconds.
using SimDuration = std::chrono::duration<std::int64_t, std::nano>;

/// The clock of the cluster simulation. Its origin is the trace's. It has no `now()`: only the simulator
/// knows the time.
struct SimClock {
  /// Type of a length.
  using duration = SimDuration;
  using rep = duration::rep;                             ///< type of the count
  using period = duration::period;                       ///< length of one tick: a nanosecond
  using time_point = std::chrono::time_point<SimClock>;  ///< type of an instant
  static constexpr bool is_steady = true;                ///< true: simulated time never goes back
};

/// An instant of simulated time, counted from the trace's origin.
using SimTime = SimClock::time_point;

/// A predicted duration, in double nanoseconds.
using Nanoseconds = std::chrono::duration<double, std::nano>;

/// A duration in double seconds, for formulas and for people.
using Seconds = std::chrono::duration<double>;

/// Rounds a predicted duration to simulated time, half away from zero.
inline SimDuration to_sim_duration(Nanoseconds duration) {
  return SimDuration(static_cast<std::int64_t>(std::llround(duration.count())));
}

/// Seconds as a double, to the nearest one up to 2^53 ns (104 days).
constexpr double to_seconds(SimDuration duration) {
  return Seconds(duration).count();
}

/// Seconds from the trace's origin as a double.
constexpr double to_seconds(SimTime time) {
  return to_seconds(time.time_since_epoch());
}

/// `a + b`, or the longest duration if the sum would exceed it. The longest duration means "never ends", and
/// must not overflow. `a` and `b` are not both negative.
constexpr SimDuration saturating_sum(SimDuration a, SimDuration b) {
  return b.count() > 0 && a > SimDuration::max() - b ? SimDuration::max() : a + b;
}

/// The instant `span` after `time`, or the last instant if the sum would exceed it.
constexpr SimTime saturating_sum(SimTime time, SimDuration span) {
  return SimTime(saturating_sum(time.time_since_epoch(), span));
}

/// A count as a factor of a formula.
constexpr double real(std::int64_t count) {
  return static_cast<double>(count);
}

/// A number with a unit. `Tag` names the unit and keeps bytes from being added to FLOPs.
template <class Tag, class Rep>
struct Quantity {
  Rep value{};  ///< number in the unit of `Tag`

  constexpr Quantity() = default;
  /// Takes the number in this unit.
  constexpr explicit Quantity(Rep v) : value(v) {}

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  /// Sum of two quantities.
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  /// Difference of two quantities.
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  /// Product of a quantity and a factor without a unit.
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity(a.value * factor); }
  /// Adds a quantity.
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  /// Subtracts a quantity.
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
};

/// An amount of memory or traffic.
using Bytes = Quantity<struct BytesTag, double>;
/// A bandwidth.
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
/// An amount of arithmetic; a multiply-add counts as two.
using Flops = Quantity<struct FlopsTag, double>;
/// A rate of arithmetic.
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
/// A number of whole GPUs.
using GpuCount = Quantity<struct GpuCountTag, std::int32_t>;

/// Bytes of a GiB.
inline constexpr double kGibibyte = 1024.0 * 1024 * 1024;

/// The time that `amount` takes at `rate`.
constexpr Nanoseconds operator/(Bytes amount, BytesPerSecond rate) {
  return Nanoseconds(amount.value / rate.value * 1e9);
}
/// The time that `amount` of arithmetic takes at `rate`.
constexpr Nanoseconds operator/(Flops amount, FlopsPerSecond rate) {
  return Nanoseconds(amount.value / rate.value * 1e9);
}

}  // namespace vtrain
