# Asks for one URL after the other with the library that is named on the command
# line; see driver.go for the protocol.
require "json"
require "net/http"
require "open-uri"
require "openssl"

TIMEOUT = 8

ASK = {
  "net-http" => lambda do |url|
    uri = URI.parse(url)
    options = {
      use_ssl: uri.scheme == "https", verify_mode: OpenSSL::SSL::VERIFY_NONE,
      open_timeout: TIMEOUT, read_timeout: TIMEOUT, max_retries: 0
    }
    Net::HTTP.start(uri.hostname, uri.port, options) { |http| http.get("/") }
  end,
  "open-uri" => lambda do |url|
    URI.parse(url).open(ssl_verify_mode: OpenSSL::SSL::VERIFY_NONE, open_timeout: TIMEOUT, read_timeout: TIMEOUT, &:read)
  end
}.freeze

ask = ASK.fetch(ARGV[0])
base = ENV.to_h
$stdout.sync = true
puts JSON.generate(version: RUBY_ENGINE == "ruby" && RUBY_PATCHLEVEL >= 0 && RUBY_VERSION < "3.2" ? "#{RUBY_VERSION}p#{RUBY_PATCHLEVEL}" : RUBY_VERSION)
$stdin.each_line do |line|
  question = JSON.parse(line)
  ENV.replace(base.merge(question["env"]))
  begin
    ask.call(question["url"])
    puts "{}"
  rescue StandardError => e
    puts JSON.generate(problem: "#{e.class}: #{e.message}".scrub)
  end
end
