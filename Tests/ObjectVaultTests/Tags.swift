// Tags of suites. `Scripts/test` selects suites by them, and CONTRIBUTING.md describes each tag.

import Testing

extension Tag {
  @Tag static var kills: Self
  @Tag static var processes: Self
  @Tag static var pure: Self
  @Tag static var random: Self
  @Tag static var sampled: Self
  @Tag static var slow: Self
}
