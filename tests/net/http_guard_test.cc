// SPDX-License-Identifier: Apache-2.0
#include "net/connection/http_guard.h"

#include <gtest/gtest.h>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

struct Browser {
  const char* name;
  std::string headers;     // in addition to those of every request
  const char* named = "";  // text of the refusal
};

std::string request(const std::string& headers) {
  return "POST / HTTP/1.1\r\n" + headers +
         "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n";
}

std::string verdict(const HttpGuard& guard, const std::string& headers) {
  HttpParser parser;
  std::size_t consumed = 0;
  const std::string bytes = request(headers);
  EXPECT_EQ(parser.feed(bytes, consumed), HttpParser::State::complete) << headers;
  return guard.refuse(parser.request());
}

const Browser pages[] = {
    {"its own name resolves to us",     "Host: evil.example:9324\r\n",                               "--allow-host evil.example "},
    {"without a port",                  "Host: evil.example\r\n",                                    "--allow-host"              },
    {"our name within its own",         "Host: localhost.evil.example:9324\r\n",                     "localhost.evil.example"    },
    {"its own name within ours",        "Host: evil-localhost:9324\r\n",                             "--allow-host"              },
    {"an address that looks local",     "Host: 127.0.0.1.evil.example\r\n",                          "--allow-host"              },
    {"an address of the network",       "Host: 192.168.1.7:9324\r\n",                                "--allow-host 192.168.1.7 " },
    {"an address not of loopback",      "Host: 128.0.0.1\r\n",                                       "--allow-host"              },
    {"all addresses",                   "Host: 0.0.0.0:9324\r\n",                                    "--allow-host"              },
    {"a number for an address",         "Host: 2130706433\r\n",                                      "--allow-host"              },
    {"a short address",                 "Host: 127.1\r\n",                                           "--allow-host"              },
    {"IPv6 not of loopback",            "Host: [::2]:9324\r\n",                                      "--allow-host [::2] "       },
    {"a form of a page",                "Host: localhost\r\nOrigin: https://evil.example\r\n",
     "--allow-origin https://evil.example "                                                                                      },
    {"a sandboxed frame",               "Host: localhost\r\nOrigin: null\r\n",                       "--allow-origin null"       },
    {"a page of another local port",    "Host: 127.0.0.1:9324\r\nOrigin: http://127.0.0.1:8080\r\n",
     "--allow-origin"                                                                                                            },
    {"a file",                          "Host: [::1]:9324\r\nOrigin: file://\r\n",                   "--allow-origin"            },
    {"a listed origin, longer",         "Host: localhost\r\nOrigin: https://good.example.evil\r\n",
     "--allow-origin"                                                                                                            },
    {"a listed origin, other scheme",   "Host: localhost\r\nOrigin: http://good.example\r\n",
     "--allow-origin"                                                                                                            },
    {"an image of a page",              "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",         "cross-site"                },
    {"of a neighbouring name",          "Host: localhost\r\nSec-Fetch-Site: same-site\r\n",          "same-site"                 },
    {"a listed origin, our wrong name", "Host: evil.example\r\nOrigin: https://good.example\r\n",
     "--allow-host"                                                                                                              },
};
static_assert(std::size(pages) == 20);

TEST(HttpGuard, RefusesWhatPagesMakeBrowsersSendAndNamesTheFlag) {
  HttpGuardRules rules;
  rules.hosts = {"pawl.internal", "127.0.0.1"};
  rules.origins = {"https://good.example"};
  const HttpGuard guard(rules);
  for (const Browser& page : pages) {
    const std::string why = verdict(guard, page.headers);
    EXPECT_NE(why.find(page.named), std::string::npos) << page.name << ": " << why;
    EXPECT_FALSE(why.empty()) << page.name;
  }
}

TEST(HttpGuard, ServesClientsOfThisMachineAndWhatIsListed) {
  HttpGuardRules rules;
  rules.hosts = {"pawl.internal", "[2001:db8::7]"};
  rules.origins = {"https://good.example"};
  const HttpGuard guard(rules);
  for (const char* headers :
       {"Host: localhost\r\n", "Host: LocalHost:9324\r\n", "Host: 127.0.0.1:9324\r\n",
        "Host: 127.8.9.10\r\n", "Host: [::1]:9324\r\n", "Host: PAWL.internal:80\r\n",
        "Host: [2001:db8::7]\r\n", "Host: localhost\r\nOrigin: https://good.example\r\n",
        "Host: localhost\r\nOrigin: https://good.example\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: localhost\r\nSec-Fetch-Site: none\r\n",
        "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n"}) {
    EXPECT_EQ(verdict(guard, headers), "") << headers;
  }
}

TEST(HttpGuard, TakesEveryAddressForItsOwnWhenItIsBoundToAllAndNoName) {
  HttpGuardRules rules;
  rules.any_address = true;
  const HttpGuard guard(rules);
  EXPECT_EQ(verdict(guard, "Host: 192.168.1.7:9324\r\n"), "");
  EXPECT_EQ(verdict(guard, "Host: [2001:db8::1]\r\n"), "");
  EXPECT_NE(verdict(guard, "Host: evil.example\r\n"), "");
}

TEST(HttpGuard, AnswersProbesOfAnyHostAndShowsNoOtherPageWhereOthersReachIt) {
  HttpGuardRules rules;
  rules.probes_only = true;
  rules.any_host = true;
  const HttpGuard guard(rules);
  const auto asked = [&](const std::string& path) {
    HttpParser parser;
    std::size_t consumed = 0;
    parser.feed("GET " + path + " HTTP/1.1\r\nHost: 10.1.2.3:9325\r\n\r\n", consumed);
    return guard.refuse(parser.request());
  };
  for (const char* path : {"/livez", "/readyz"}) EXPECT_EQ(asked(path), "") << path;
  for (const char* path : {"/", "/healthz", "/metrics", "/queues", "/livez/", "/readyzz", "/Livez"})
    EXPECT_NE(asked(path).find("--admin 127.0.0.1:PORT"), std::string::npos) << path;
}

TEST(HttpGuard, KnowsTheHostsOfThisMachineAlone) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "[::1]", "localhost", "LOCALHOST"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"0.0.0.0", "[::]", "10.0.0.1", "pawl", "", "127.0.0.1.example"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

TEST(HttpGuard, ServesProgramsByAnyNameForDevelopmentAndChecksBrowsers) {
  HttpGuardRules rules;
  rules.any_host = true;
  const HttpGuard guard(rules);
  EXPECT_EQ(verdict(guard, "Host: queue:4566\r\n"), "");
  EXPECT_EQ(verdict(guard, "Host: queue\r\nUser-Agent: Boto3/1.34\r\n"), "");
  for (const char* mark : {"User-Agent: Mozilla/5.0 (X11) Firefox/128.0\r\n",
                           "Sec-Fetch-Mode: navigate\r\n", "Origin: http://queue\r\n"})
    EXPECT_NE(verdict(guard, "Host: queue\r\n" + std::string(mark)).find("--allow-host queue"),
              std::string::npos)
        << mark;
  EXPECT_EQ(verdict(guard, "Host: localhost\r\nUser-Agent: Mozilla/5.0\r\n"), "");
  EXPECT_NE(verdict(guard, "Host: localhost\r\nOrigin: https://evil.example\r\n"), "");
}

TEST(HttpGuard, AsksNothingWhereSignaturesAreAsked) {
  HttpGuardRules rules;
  rules.ask = false;
  const HttpGuard guard(rules);
  for (const Browser& page : pages) EXPECT_EQ(verdict(guard, page.headers), "") << page.name;
}

TEST(HttpGuard, BelievesForwardedHeadersOfItsProxiesAlone) {
  HttpGuardRules rules;
  rules.proxies = {*Network::parse("10.0.0.0/8")};
  const HttpGuard guard(rules);
  EXPECT_TRUE(guard.is_proxy(Network::parse("10.1.1.1")->address));
  EXPECT_FALSE(guard.is_proxy(Network::parse("127.0.0.1")->address));
  const struct {
    const char* headers;
    bool encrypted, proxy;
    const char *scheme, *host;
  } cases[] = {
      {"",                                                                          false, true,  "http",  ""              },
      {"",                                                                          true,  false, "https", ""              },
      {"X-Forwarded-Proto: https\r\nX-Forwarded-Host: q.example\r\n",               false, false, "http",  ""              },
      {"X-Forwarded-Proto: https\r\nX-Forwarded-Host: q.example\r\n",               false, true,  "https",
       "q.example"                                                                                                         },
      {"X-Forwarded-Proto: HTTPS, http\r\nX-Forwarded-Host: q.example:8443, b\r\n", false, true,
       "https",                                                                                            "q.example:8443"},
      {"X-Forwarded-Proto: http\r\n",                                               true,  true,  "http",  ""              },
      {"X-Forwarded-Proto: javascript\r\n",                                         false, true,  "http",  ""              },
      {"X-Forwarded-Host: evil/x\"<\r\n",                                           false, true,  "http",  ""              },
  };
  for (const auto& c : cases) {
    HttpParser parser;
    std::size_t consumed = 0;
    const std::string bytes = request("Host: localhost\r\n" + std::string(c.headers));
    ASSERT_EQ(parser.feed(bytes, consumed), HttpParser::State::complete);
    HttpRequest named = parser.request();
    guard.name_server(named, c.encrypted, c.proxy);
    EXPECT_EQ(named.scheme, c.scheme) << c.headers;
    EXPECT_EQ(named.public_host, c.host) << c.headers;
  }
}

class GuardedServerTest : public LiveServerTest {
 protected:
  std::string ask(const std::string& bytes, Protocol protocol = Protocol::http) {
    const int fd = connect_to(port(protocol));
    send_all(fd, bytes);
    const std::string answer = read_responses(fd, 1);
    ::close(fd);
    return answer;
  }
};

TEST_F(GuardedServerTest, SaysNoInTheProtocolOfTheCallerAndDoesNothing) {
  start();
  const std::string origin = "Origin: https://evil.example\r\n";
  const std::string form = "Action=CreateQueue&QueueName=made";
  const std::string xml =
      ask("POST / HTTP/1.1\r\nHost: localhost\r\n" + origin +
          "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
          std::to_string(form.size()) + "\r\n\r\n" + form);
  EXPECT_TRUE(xml.starts_with("HTTP/1.1 403")) << xml;
  EXPECT_NE(xml.find("<Code>AccessDenied</Code>"), std::string::npos) << xml;
  const std::string json = ask(json_request("CreateQueue", R"({"QueueName":"made"})", origin));
  EXPECT_TRUE(json.starts_with("HTTP/1.1 403")) << json;
  EXPECT_NE(json.find(R"("__type":)"), std::string::npos) << json;
  EXPECT_NE(json.find("--allow-origin https://evil.example"), std::string::npos) << json;
  const std::string preflight = ask("OPTIONS / HTTP/1.1\r\nHost: localhost\r\n" + origin +
                                    "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_TRUE(preflight.starts_with("HTTP/1.1 403")) << preflight;
  for (const std::string& answer : {xml, json, preflight})
    EXPECT_EQ(answer.find("Access-Control"), std::string::npos) << answer;
  const std::string admin =
      ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", Protocol::admin);
  EXPECT_TRUE(admin.starts_with("HTTP/1.1 403")) << admin;
  EXPECT_EQ(ask(json_request("ListQueues", "{}")).find("made"), std::string::npos);
}

TEST_F(GuardedServerTest, PagesOfAnAllowedOriginGetTheirHeaders) {
  options_.allow_origins = {"https://console.example"};
  start();
  const std::string origin = "Origin: https://console.example\r\n";
  const std::string echoed = "\r\nAccess-Control-Allow-Origin: https://console.example\r\n";
  const std::string preflight =
      ask("OPTIONS / HTTP/1.1\r\nHost: localhost\r\n" + origin +
          "Access-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: authorization,content-type,x-amz-date,x-amz-target\r\n"
          "Connection: close\r\n\r\n");
  EXPECT_TRUE(preflight.starts_with("HTTP/1.1 204")) << preflight;
  EXPECT_TRUE(preflight.contains(echoed)) << preflight;
  EXPECT_TRUE(preflight.contains(
      "\r\nAccess-Control-Allow-Methods: GET, HEAD, POST, OPTIONS, PUT, DELETE\r\n"))
      << preflight;
  const std::size_t at = preflight.find("\r\nAccess-Control-Allow-Headers: ");
  ASSERT_NE(at, std::string::npos) << preflight;
  const std::string allowed = preflight.substr(at, preflight.find("\r\n", at + 2) - at);
  for (const char* header : {"authorization", "content-type", "x-amz-content-sha256", "x-amz-date",
                             "x-amz-security-token", "x-amz-target", "x-amz-user-agent",
                             "x-amzn-query-mode", "amz-sdk-invocation-id", "amz-sdk-request"})
    EXPECT_TRUE(allowed.contains(header)) << header << " in " << allowed;
  const std::string result = ask(json_request("ListQueues", "{}", origin));
  const std::string error = ask(json_request("GetQueueUrl", R"({"QueueName":"none"})", origin));
  const std::string xml =
      ask("GET /?Action=ListQueues HTTP/1.1\r\nHost: localhost\r\n" + origin + "\r\n");
  EXPECT_TRUE(result.starts_with("HTTP/1.1 200")) << result;
  EXPECT_TRUE(error.starts_with("HTTP/1.1 400")) << error;
  EXPECT_TRUE(xml.starts_with("HTTP/1.1 200")) << xml;
  for (const std::string& answer : {preflight, result, error, xml}) {
    EXPECT_TRUE(answer.contains(echoed)) << answer;
    EXPECT_TRUE(answer.contains("\r\nVary: Origin")) << answer;
    EXPECT_FALSE(answer.contains('*')) << answer;
  }
  EXPECT_TRUE(result.contains("\r\nAccess-Control-Expose-Headers: x-amzn-RequestId")) << result;
  const std::string plain = ask(json_request("ListQueues", "{}"));
  EXPECT_FALSE(plain.contains("Access-Control")) << plain;
}

// The browser decides by these headers: pages of other origins get none, with signatures too.
TEST_F(GuardedServerTest, OtherOriginsGetNoHeadersWhereSignaturesAreAsked) {
  options_.allow_origins = {"https://console.example"};
  options_.auth = "sigv4";
  options_.load_keys = [] { return std::make_shared<const Keyring>(); };
  start();
  const std::string request = "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  const std::string allowed = ask(request + "Origin: https://console.example\r\n\r\n");
  EXPECT_TRUE(allowed.contains("Access-Control-Allow-Origin: https://console.example\r\n"));
  const std::string other = ask(request + "Origin: https://evil.example\r\n\r\n");
  EXPECT_FALSE(other.contains("Access-Control")) << other;
  EXPECT_TRUE(ask(json_request("ListQueues", "{}", "Origin: https://console.example\r\n"))
                  .contains("Access-Control-Allow-Origin: https://console.example\r\n"))
      << "an error of authentication is to be readable too";
}

// The GET of an <img> carries no Origin; the browser marks it by other headers.
TEST_F(GuardedServerTest, AGetOrHeadOfABrowserOnlyReads) {
  start();
  ask(json_request("CreateQueue", R"({"QueueName":"q"})"));
  ask(json_request("SendMessage", R"({"QueueUrl":"q","MessageBody":"kept"})"));
  const auto get = [&](const std::string& method, const std::string& target,
                       const std::string& headers = {}) {
    return ask(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
               headers + "\r\n");
  };
  const std::string image = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/99.0\r\n";
  const std::string queue = "/000000000000/q?Action=";
  for (const char* action : {"PurgeQueue", "DeleteQueue", "ReceiveMessage",
                             "SendMessage&MessageBody=x", "PurgeQueue&X-Amz-Signature=0"}) {
    for (const char* method : {"GET", "HEAD"}) {
      const std::string answer = get(method, queue + action, image);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << method << action << answer;
    }
    EXPECT_TRUE(get("GET", queue + action, image).contains("<Code>AccessDenied</Code>")) << action;
  }
  EXPECT_TRUE(get("GET", "/?Action=CreateQueue&QueueName=new", image).starts_with("HTTP/1.1 403"));
  EXPECT_TRUE(get("GET", "/?Action=CreateTopic&Name=t&Version=2010-03-31", image)
                  .starts_with("HTTP/1.1 403"));
  const std::string counts = get("GET", queue + "GetQueueAttributes&AttributeName.1=All", image);
  EXPECT_TRUE(counts.starts_with("HTTP/1.1 200")) << counts;
  EXPECT_TRUE(counts.contains("<Name>ApproximateNumberOfMessages</Name><Value>1</Value>"))
      << counts;
  EXPECT_TRUE(get("GET", "/?Action=ListQueues").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(get("GET", "/?Action=ListTopics&Version=2010-03-31").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(get("GET", "/?Action=CreateQueue&QueueName=new", "User-Agent: curl/8.5.0\r\n")
                  .starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(get("GET", queue + "PurgeQueue", image + "Authorization: AWS4-HMAC-SHA256 x\r\n")
                  .starts_with("HTTP/1.1 200"))
      << "a page cannot add this header";
}

TEST_F(GuardedServerTest, NamesItselfAsItsProxyIsCalled) {
  options_.trusted_proxies = {"127.0.0.0/8"};
  start();
  const std::string answer =
      ask(json_request("CreateQueue", R"({"QueueName":"q"})",
                       "X-Forwarded-Proto: https\r\nX-Forwarded-Host: queues.example\r\n"));
  EXPECT_NE(answer.find(R"("QueueUrl":"https://queues.example/000000000000/q")"), std::string::npos)
      << answer;
}

}  // namespace
}  // namespace pawl
