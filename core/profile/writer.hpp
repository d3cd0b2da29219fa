/// The JSON text of a GPU profile, laid out for people and for small files: one constant per line, numbers
/// without needless digits.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/kernels/measured_products.hpp"
#include "core/profile/surface_fit.hpp"

namespace vtrain {

/// Builds a profile piece by piece. Pieces of one kind (GEMMs, attention) must follow each other.
class ProfileText {
 public:
  /// `base` is the profile that this one extends, or empty.
  ProfileText(std::string_view name, std::string_view description, std::string_view made_by,
              std::string_view base);

  /// Adds constants with their units and sources.
  void add_constants(std::span<const ProfileConstant> constants);
  /// Adds products. Values are rounded to 0.001, which changes a time by 0.05 % at most.
  void add_gemm(Precision precision, const SurfaceFit& fit, std::string_view source);
  /// Adds products at a rate relative to the extended profile's.
  void add_relative_gemm(Precision precision, const RelativeRate& rate, std::string_view source);
  /// Adds attention. Rates are rounded to 4 digits.
  void add_attention(AttentionKernel kernel, const SurfaceFit& fit, std::string_view source);
  /// Adds a generation at a rate relative to another one, from `from_profile` or, if that is empty, from this
  /// profile.
  void add_assumed_attention(AttentionKernel kernel, std::string_view from, std::string_view from_profile,
                             double relative_rate, std::string_view source);
  /// Adds the rate of the backward pass relative to the forward pass.
  void add_attention_backward(const AttentionBackward& backward, std::string_view source);
  /// Adds collectives under `kCollectivesKey` or `kOldCollectivesKey`.
  void add_collectives(std::string_view key, const CollectiveFit& fit, std::string_view source);
  /// Adds products of measured shapes, in whole nanoseconds.
  void add_products(const MeasuredProducts& products, std::string_view source);

  /// The whole text, ended by a newline.
  std::string finish() &&;

 private:
  void open_section(std::string_view key);
  void close_section();
  void begin_entry(std::string_view key);
  void add_line(std::string_view line);

  std::string text_;
  std::string section_;
  bool entry_follows_ = false;
};

}  // namespace vtrain
