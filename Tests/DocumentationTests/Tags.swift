// Tags of suites, by which `Scripts/test` chooses. CONTRIBUTING.md says what each means.

import Testing

extension Tag {
  @Tag static var documents: Self
  @Tag static var pure: Self
  @Tag static var sampled: Self
  @Tag static var slow: Self
}
